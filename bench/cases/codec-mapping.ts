import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { msgpackCodec } from "holdfast/codec";
import { Packr } from "msgpackr";
import type { BenchCase } from "../case.ts";
import { fixtures, type Fixture } from "../fixtures/messages.ts";

// The mappings that a message could have in msgpack, each as a tree of plain values that msgpackr packs, next to
// the codec, which goes between message and bytes directly. Enough of protobuf is done for the fixtures.

type Fields = Record<string, unknown>;

/** One way to lay out the set fields of a message. */
interface Mapping {
  readonly lay: (fields: readonly (readonly [number, unknown])[]) => unknown;
  readonly each: (tree: unknown, field: (number: number, value: unknown) => void) => void;
}

const mappings: Readonly<Record<string, Mapping>> = {
  "map by number, msgpackr": {
    lay: (fields) => new Map(fields),
    each: (tree, field) => (tree as Map<number, unknown>).forEach((value, number) => field(number, value)),
  },
  "flat array, msgpackr": {
    lay: (fields) => fields.flat(),
    each: (tree, field) => {
      const list = tree as unknown[];
      for (let i = 0; i < list.length; i += 2) field(list[i] as number, list[i + 1]);
    },
  },
  "array with holes, msgpackr": {
    lay: (fields) => {
      const list: unknown[] = [];
      for (const [number, value] of fields) {
        while (list.length < number - 1) list.push(null);
        list.push(value);
      }
      return list;
    },
    each: (tree, field) =>
      (tree as unknown[]).forEach((value, i) => {
        if (value !== null) field(i + 1, value);
      }),
  },
};

function treeOf(desc: DescMessage, message: Message, mapping: Mapping): unknown {
  const fields: (readonly [number, unknown])[] = [];
  for (const field of desc.fields) {
    const value = valueIn(message, field);
    if (value !== undefined) fields.push([field.number, valueTree(field, value, mapping)]);
  }
  return mapping.lay(fields);
}

function valueIn(message: Fields, field: DescField): unknown {
  if (field.oneof !== undefined) {
    const choice = message[field.oneof.localName] as { case?: string; value?: unknown };
    return choice.case === field.localName ? choice.value : undefined;
  }
  const value = message[field.localName];
  return value === "" || value === 0 || value === 0n || value === false ? undefined : value;
}

function valueTree(field: DescField, value: unknown, mapping: Mapping): unknown {
  const { message } = field;
  if (field.fieldKind === "map") return new Map(Object.entries(value as Fields));
  if (message === undefined) return value;
  if (field.fieldKind === "list") return (value as Message[]).map((item) => treeOf(message, item, mapping));
  return treeOf(message, value as Message, mapping);
}

function messageOf(desc: DescMessage, byNumber: Tables, tree: unknown, mapping: Mapping): Message {
  const message = create(desc);
  const fields = byNumber.get(desc);
  mapping.each(tree, (number, value) => {
    const field = fields?.get(number);
    if (field === undefined) return;
    const local = localOf(field, byNumber, value, mapping);
    const target = message as unknown as Fields;
    if (field.oneof === undefined) target[field.localName] = local;
    else target[field.oneof.localName] = { case: field.localName, value: local };
  });
  return message;
}

function localOf(field: DescField, byNumber: Tables, value: unknown, mapping: Mapping): unknown {
  const { message } = field;
  if (field.fieldKind === "map") return Object.fromEntries(value as Map<string, unknown>);
  if (message === undefined) return value;
  if (field.fieldKind === "list")
    return (value as unknown[]).map((item) => messageOf(message, byNumber, item, mapping));
  return messageOf(message, byNumber, value, mapping);
}

type Tables = Map<DescMessage, Map<number, DescField>>;

function tablesOf(desc: DescMessage, tables: Tables = new Map()): Tables {
  if (tables.has(desc)) return tables;
  tables.set(desc, new Map(desc.fields.map((field) => [field.number, field])));
  for (const field of desc.fields) if (field.message !== undefined) tablesOf(field.message, tables);
  return tables;
}

const packr = new Packr({ useRecords: false, mapsAsObjects: false, int64AsType: "bigint" });

function caseOf({ name, desc, message }: Fixture): BenchCase {
  const tables = tablesOf(desc);
  const pack = (mapping: Mapping) => packr.pack(treeOf(desc, message, mapping));
  const entries = Object.entries(mappings);
  const trips = entries.map(
    ([peer, mapping]) => [peer, () => messageOf(desc, tables, packr.unpack(pack(mapping)), mapping)] as const,
  );
  return {
    name: `codec-mapping/${name}`,
    base: "holdfast msgpack",
    peers: {
      "holdfast msgpack": () =>
        msgpackCodec.unshape(desc, msgpackCodec.unpack(msgpackCodec.pack(msgpackCodec.shape(desc, message)))),
      ...Object.fromEntries(trips),
    },
    sizes: {
      "holdfast msgpack": msgpackCodec.pack(msgpackCodec.shape(desc, message)).length,
      ...Object.fromEntries(entries.map(([peer, mapping]) => [peer, pack(mapping).length])),
    },
  };
}

export const cases: readonly BenchCase[] = fixtures.map(caseOf);
