import { create, type DescField, type DescMessage, type DescOneof } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { fillMembers, fillsOf, type Fill } from "./fill-sites.ts";
import type { Fields } from "./presence.ts";

// What `create` makes, but made in one go with the values that were read: each member is set once and always
// in the same order, so that all messages of a type share one hidden class.

/** How the empty message of a type looks. */
export interface Blank {
  readonly typeName: string;
  readonly members: readonly BlankMember[];
  /** About what one takes in memory, with its members at their most expensive default. */
  readonly bytes: number;
  readonly Start: Start;
  /** Set the members of one, once it has begun. */
  readonly fills: readonly Fill[];
}

/** Makes the beginning of a message of one type. */
type Start = new (typeName: string) => Fields;

interface BlankMember {
  readonly localName: string;
  readonly unset: "absent" | "zero" | "list" | "map" | "oneof";
  readonly zero: unknown;
}

/** An object with its type's name. */
const objectBytes = 32;
const memberBytes = 8;
/** What a member that is not set makes besides its own place. */
const unsetBytes = { absent: 0, zero: 0, list: 32, map: 56, oneof: 40 };

/** Shared by all codecs, since places to learn at are few. */
const blanks = new WeakMap<DescMessage, Blank>();

export function blankOf(desc: DescMessage): Blank {
  const known = blanks.get(desc);
  if (known !== undefined) return known;
  const blank = newBlank(desc);
  blanks.set(desc, blank);
  return blank;
}

function newBlank(desc: DescMessage): Blank {
  const example = create(desc);
  const members = desc.members.map((member) => ({
    localName: member.localName,
    unset: unsetForm(member),
    zero: (example as unknown as Fields)[member.localName],
  }));
  return {
    typeName: desc.typeName,
    members,
    bytes: members.reduce((sum, { unset }) => sum + memberBytes + unsetBytes[unset], objectBytes),
    fills: fillsOf(desc.members.map((member) => member.localName)),
    Start: startOf(Object.getPrototypeOf(example) as object),
  };
}

function unsetForm(member: DescField | DescOneof): BlankMember["unset"] {
  if (member.kind === "oneof") return "oneof";
  if (member.fieldKind === "list" || member.fieldKind === "map") return member.fieldKind;
  return member.presence === FeatureSet_FieldPresence.IMPLICIT ? "zero" : "absent";
}

/**
 * A constructor of one type's own with the prototype that `create` gives (that of plain objects, but for the
 * defaults of proto2 and of some editions). V8 learns from it how many members the type's messages have, and makes
 * room for all of them at once; a literal would be copied every three members.
 */
function startOf(prototype: object): Start {
  const Start = function (this: Fields, typeName: string): void {
    this["$typeName"] = typeName;
  };
  Start.prototype = prototype;
  return Start as unknown as Start;
}

/**
 * The message whose members' values lie in `values` from `base` on, undefined where one is not set, as everything
 * behind them is. What is not set gets its value there.
 */
export function fillBlank(blank: Blank, values: unknown[], base: number): Fields {
  const { members, fills } = blank;
  for (let i = 0; i < members.length; i++) {
    const member = members[i];
    if (values[base + i] === undefined && member !== undefined) values[base + i] = unsetValue(member);
  }
  const message = new blank.Start(blank.typeName);
  for (let i = 0; i < fills.length; i++) fills[i]?.(message, values, base + fillMembers * i);
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
