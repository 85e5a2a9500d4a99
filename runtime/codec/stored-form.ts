import type { DescExtension, DescField, DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** A field or extension that holds messages, alone, in a list or as the values of a map. */
export type MessageField = (DescField | DescExtension) & { readonly message: DescMessage };

/**
 * How protobuf-es keeps a message in a field: mostly as it is; a `google.protobuf.Struct` as a JSON object,
 * except inside a `Value`; a wrapper such as `Int32Value` as the bare scalar, where it stands alone and not
 * in a oneof. A slot's content is kept in the codec's own form.
 */
export type StoredForm = "message" | "struct" | "wrapper" | "slot";

export function storedFormOf(field: MessageField, slotTypeNames: ReadonlySet<string>): StoredForm {
  const desc = field.message;
  if (slotTypeNames.has(desc.typeName)) return "slot";
  if (desc.typeName === "google.protobuf.Struct") {
    const holder = field.kind === "extension" ? field.extendee : field.parent;
    return holder.typeName === "google.protobuf.Value" ? "message" : "struct";
  }
  const alone = field.fieldKind === "message" && field.oneof === undefined;
  return alone && isWrapperDesc(desc) ? "wrapper" : "message";
}

/** The only field of a wrapper message such as `Int32Value`. */
export function wrappedField(desc: DescMessage): DescField & { readonly fieldKind: "scalar" } {
  const field = desc.fields[0];
  if (field?.fieldKind !== "scalar") throw new TypeError(`${desc.typeName} is not a wrapper`);
  return field;
}
