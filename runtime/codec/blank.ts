import { create, type DescField, type DescMessage, type DescOneof } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { Fields } from "./presence.ts";

// What `create` makes, but made in one go with the values that were read: each member is set once and always
// in the same order, so that all messages of a type share one hidden class.

/** How the empty message of a type looks. */
export interface Blank {
  readonly typeName: string;
  readonly memberCount: number;
  readonly members: readonly BlankMember[];
  /** With the defaults of proto2 and of some editions; undefined if messages of this type are plain objects. */
  readonly prototype: object | undefined;
}

interface BlankMember {
  readonly localName: string;
  readonly unset: "absent" | "zero" | "list" | "map" | "oneof";
  readonly zero: unknown;
}

export function blankOf(desc: DescMessage): Blank {
  const example = create(desc);
  const prototype = Object.getPrototypeOf(example) as object;
  return {
    typeName: desc.typeName,
    memberCount: desc.members.length,
    prototype: prototype === Object.prototype ? undefined : prototype,
    members: desc.members.map((member) => ({
      localName: member.localName,
      unset: unsetForm(member),
      zero: (example as unknown as Fields)[member.localName],
    })),
  };
}

function unsetForm(member: DescField | DescOneof): BlankMember["unset"] {
  if (member.kind === "oneof") return "oneof";
  if (member.fieldKind === "list" || member.fieldKind === "map") return member.fieldKind;
  return member.presence === FeatureSet_FieldPresence.IMPLICIT ? "zero" : "absent";
}

/** The message whose members' values lie in `values` from `base` on, undefined where one is not set. */
export function fillBlank(blank: Blank, values: readonly unknown[], base: number): Fields {
  const { members } = blank;
  const message = startOf(blank);
  for (let i = 0; i < members.length; i++) {
    const member = members[i];
    if (member === undefined) continue;
    const value = values[base + i] ?? unsetValue(member);
    if (value !== undefined) message[member.localName] = value;
  }
  return message;
}

function startOf({ typeName, prototype }: Blank): Fields {
  if (prototype === undefined) return { $typeName: typeName };
  const message = Object.create(prototype) as Fields;
  message["$typeName"] = typeName;
  return message;
}

function unsetValue(member: BlankMember): unknown {
  switch (member.unset) {
    case "absent":
      return undefined;
    case "zero":
      return member.zero;
    case "list":
      return [];
    case "map":
      return {};
    case "oneof":
      return { case: undefined };
  }
}
