/**
 * Whether two requests under one call ID are the same request. Protobuf's bytes do not tell: map order, the
 * codec and fields that one build does not know all change them. So the digest is made over a walk of the
 * decoded message that writes every field that it knows in one way: by number, maps by the bytes of their keys,
 * defaults left out, floats by their bits. What it does not know, extensions among it, is left out: the binary form
 * carries that, and JSON and msgpack do not, and a client's tries of one call go over a wire and over HTTP.
 *
 * The walk depends on the schema, so a digest of it is kept beside the print. Prints of two schemas (a deploy
 * between two tries) are not compared; then the method alone counts.
 *
 * Source: reliability decision D2; `docs/decisions/011-what-a-print-leaves-out.md`.
 */
import { hash } from "node:crypto";
import { type DescField, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage, type ScalarValue } from "@bufbuild/protobuf/reflect";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import type { Fingerprint } from "../store/store.ts";
import { FlatPrint } from "./flat-print.ts";
import { schemaDigest } from "./schema-digest.ts";

/** Raised when the walk below changes what it writes. */
const version = 2;
const printBytes = 16;
/** What waits to be hashed is kept in memory with its call, so it is small. */
const writtenBytesMost = 256;

/** What is the same for all requests of a method. */
interface MethodPrint {
  readonly name: string;
  readonly schema: Uint8Array;
  /** Version, name and an empty scope. */
  readonly head: Uint8Array;
  readonly flat: FlatPrint;
}

const prints = new WeakMap<CommandDefinition["method"], MethodPrint>();

function printOf({ method }: CommandDefinition): MethodPrint {
  const known = prints.get(method);
  if (known !== undefined) return known;
  const name = `${method.parent.typeName}.${method.name}`;
  const flat = new FlatPrint(method.input, walkedField);
  const made = { name, schema: schemaDigest(method.input), head: headOf(name, ""), flat };
  prints.set(method, made);
  return made;
}

/** The full name of a method, as it is kept. */
export function methodName(definition: CommandDefinition): string {
  return printOf(definition).name;
}

/**
 * What is compared of a request, as it is now.
 *
 * @param scope - what else the call is about: the params of the object whose method it is.
 * @throws FieldError for a message that does not fit its schema, such as a number out of range.
 */
export function comparedOf(definition: CommandDefinition, request: Message, scope: string): Compared {
  const { name, schema, head, flat } = printOf(definition);
  const before = scope === "" ? head : headOf(name, scope);
  return new Print(name, schema, flat.write(before, request));
}

/** Hashed when somebody looks: most calls end before anything is compared with them. */
class Print implements Fingerprint, Compared {
  readonly version = version;
  readonly method: string;
  readonly schema: Uint8Array;
  #written: Uint8Array | undefined;
  #print: Uint8Array | undefined;

  constructor(method: string, schema: Uint8Array, written: Uint8Array) {
    this.method = method;
    this.schema = schema;
    this.#written = written;
    if (written.length > writtenBytesMost) this.#hash(written);
  }

  get fingerprint(): Fingerprint {
    return this;
  }

  get print(): Uint8Array {
    return this.#print ?? this.#hash(this.#written ?? new Uint8Array());
  }

  #hash(written: Uint8Array): Uint8Array {
    const print = new Uint8Array(hash("sha256", written, "buffer").subarray(0, printBytes));
    this.#print = print;
    this.#written = undefined;
    return print;
  }
}

function headOf(name: string, scope: string): Uint8Array {
  return new BinaryWriter().raw(Uint8Array.of(version)).string(name).string(scope).finish();
}

function walkedField(message: Message, field: DescField): Uint8Array {
  const its = reflect(field.parent, message);
  const writer = new BinaryWriter();
  if (its.isSet(field)) writeField(writer, its, field);
  return writer.finish();
}

/** How two requests compare; `skipped`: their schemas differ, so that only the methods were. */
export type Comparison = "same" | "other" | "skipped";

/** What is compared of a call. */
export interface Compared {
  readonly method: string;
  readonly fingerprint: Fingerprint;
}

/** Compares the requests of two tries of one call. */
export function compareRequests(a: Compared, b: Compared): Comparison {
  if (a.method !== b.method) return "other";
  const comparable =
    a.fingerprint.version === b.fingerprint.version &&
    Buffer.compare(a.fingerprint.schema, b.fingerprint.schema) === 0;
  if (!comparable) return "skipped";
  return Buffer.compare(a.fingerprint.print, b.fingerprint.print) === 0 ? "same" : "other";
}

function writeMessage(writer: BinaryWriter, message: ReflectMessage): void {
  const set = message.fields.filter((field) => message.isSet(field));
  for (const field of set.sort((a, b) => a.number - b.number)) writeField(writer, message, field);
}

function writeField(writer: BinaryWriter, message: ReflectMessage, field: DescField): void {
  switch (field.fieldKind) {
    case "scalar":
      writeScalar(writer.tag(field.number, wireTypeOf(field.scalar)), field.scalar, message.get(field));
      return;
    case "enum":
      writer.tag(field.number, WireType.Varint).int32(message.get(field));
      return;
    case "message":
      writeNested(writer.tag(field.number, WireType.LengthDelimited), message.get(field));
      return;
    case "list":
      for (const item of message.get(field)) writeItem(writer, field, item);
      return;
    case "map": {
      const entries = [...message.get(field)].map(([key, value]) => entryBytes(field, key, value));
      entries.sort((a, b) => Buffer.compare(a.key, b.key));
      for (const entry of entries) writer.tag(field.number, WireType.LengthDelimited).bytes(entry.whole);
    }
  }
}

type ListField = DescField & { fieldKind: "list" };
type MapField = DescField & { fieldKind: "map" };

function writeItem(writer: BinaryWriter, field: ListField, item: unknown): void {
  switch (field.listKind) {
    case "scalar":
      writeScalar(writer.tag(field.number, wireTypeOf(field.scalar)), field.scalar, item as ScalarValue);
      return;
    case "enum":
      writer.tag(field.number, WireType.Varint).int32(item as number);
      return;
    case "message":
      writeNested(writer.tag(field.number, WireType.LengthDelimited), item as ReflectMessage);
  }
}

/** An entry as protobuf writes it: the key as field 1, the value as field 2, here always both. */
function entryBytes(
  field: MapField,
  key: unknown,
  value: unknown,
): { readonly key: Uint8Array; readonly whole: Uint8Array } {
  const writer = new BinaryWriter();
  writeScalar(writer.tag(1, wireTypeOf(field.mapKey)), field.mapKey, key as ScalarValue);
  const keyBytes = writer.finish();
  writer.raw(keyBytes);
  switch (field.mapKind) {
    case "scalar":
      writeScalar(writer.tag(2, wireTypeOf(field.scalar)), field.scalar, value as ScalarValue);
      break;
    case "enum":
      writer.tag(2, WireType.Varint).int32(value as number);
      break;
    case "message":
      writeNested(writer.tag(2, WireType.LengthDelimited), value as ReflectMessage);
  }
  return { key: keyBytes, whole: writer.finish() };
}

function writeNested(writer: BinaryWriter, message: ReflectMessage): void {
  writer.fork();
  writeMessage(writer, message);
  writer.join();
}

function wireTypeOf(type: ScalarType): WireType {
  switch (type) {
    case ScalarType.BYTES:
    case ScalarType.STRING:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

function writeScalar(writer: BinaryWriter, type: ScalarType, value: ScalarValue): void {
  switch (type) {
    case ScalarType.STRING:
      writer.string(value as string);
      return;
    case ScalarType.BOOL:
      writer.bool(value as boolean);
      return;
    case ScalarType.DOUBLE:
      writer.double(value as number);
      return;
    case ScalarType.FLOAT:
      writer.float(value as number);
      return;
    case ScalarType.INT32:
      writer.int32(value as number);
      return;
    case ScalarType.INT64:
      writer.int64(value as bigint);
      return;
    case ScalarType.UINT64:
      writer.uint64(value as bigint);
      return;
    case ScalarType.FIXED64:
      writer.fixed64(value as bigint);
      return;
    case ScalarType.BYTES:
      writer.bytes(value as Uint8Array);
      return;
    case ScalarType.FIXED32:
      writer.fixed32(value as number);
      return;
    case ScalarType.SFIXED32:
      writer.sfixed32(value as number);
      return;
    case ScalarType.SFIXED64:
      writer.sfixed64(value as bigint);
      return;
    case ScalarType.SINT64:
      writer.sint64(value as bigint);
      return;
    case ScalarType.SINT32:
      writer.sint32(value as number);
      return;
    case ScalarType.UINT32:
      writer.uint32(value as number);
  }
}
