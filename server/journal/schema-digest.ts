/**
 * A digest of what a fingerprint's walk depends on: the fields of a message and of all messages in it. Names
 * and comments are left out, since a field that was only renamed is written the same.
 */
import { createHash } from "node:crypto";
import type { DescField, DescMessage } from "@bufbuild/protobuf";

const digestBytes = 8;
const digests = new WeakMap<DescMessage, Uint8Array>();

/** The digest of a message's schema, made once for each descriptor. */
export function schemaDigest(message: DescMessage): Uint8Array {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const text = describe(message);
  const digest = new Uint8Array(createHash("sha256").update(text).digest().subarray(0, digestBytes));
  digests.set(message, digest);
  return digest;
}

/** Every message that can be reached, each once, in the order of first meeting. */
function describe(root: DescMessage): string {
  const messages = [root];
  const lines: string[] = [];
  // Grows while it is walked: a schema may refer back to itself.
  for (const message of messages) {
    const fields = [...message.fields].sort((a, b) => a.number - b.number);
    lines.push(message.typeName, ...fields.map(describeField));
    for (const { message: nested } of fields) {
      if (nested !== undefined && !messages.includes(nested)) messages.push(nested);
    }
  }
  return lines.join("\n");
}

function describeField(field: DescField): string {
  const parts: readonly unknown[] = [
    field.number,
    field.fieldKind,
    field.fieldKind === "list" ? field.listKind : undefined,
    field.fieldKind === "map" ? [field.mapKind, field.mapKey] : undefined,
    field.scalar,
    // A closed enum keeps values that it does not know as unknown fields, so the values count too.
    field.enum?.values.map((value) => value.number),
    field.message?.typeName,
    field.presence,
    field.oneof?.name,
  ];
  return JSON.stringify(parts);
}
