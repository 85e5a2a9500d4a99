/**
 * A message as it is at this moment: what its program changes later does not reach it. It is made of what would be
 * sent, so it is also refused where that cannot be written. `clone` of protobuf-es does the same by reflection, which a
 * page would load for this alone: 2.8 KB.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";

/** @throws Error naming the field that does not fit its type, or is required and not set. */
export function snapshot<Desc extends DescMessage>(
  desc: Desc,
  message: MessageInitShape<Desc>,
): MessageShape<Desc> {
  const made = create(desc, message);
  assertFits(desc, made);
  return fromBinary(desc, toBinary(desc, made));
}

/** What the binary form would quietly make of anything: it refuses all other values by itself. */
const typeNames = new Map<unknown, string>([
  [ScalarType.STRING, "string"],
  [ScalarType.BOOL, "boolean"],
]);

function assertFits(desc: DescMessage, message: Message): void {
  const members = message as unknown as Readonly<Record<string, unknown>>;
  for (const field of desc.fields) {
    const value = valueOf(field, members);
    if (value === undefined) continue;
    const expected = typeNames.get(field.scalar);
    const several = field.fieldKind === "list" || field.fieldKind === "map";
    for (const each of several ? Object.values(value as object) : [value]) {
      if (field.message !== undefined && isMessage(each)) assertFits(field.message, each);
      else if (expected !== undefined && typeof each !== expected) {
        throw new TypeError(`cannot set ${field.toString()}: expected ${expected}, got ${typeof each}`);
      }
    }
  }
}

function valueOf({ oneof, localName }: DescField, members: Readonly<Record<string, unknown>>): unknown {
  if (oneof === undefined) return members[localName];
  const chosen = members[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}
