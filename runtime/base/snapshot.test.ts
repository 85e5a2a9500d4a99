import { create } from "@bufbuild/protobuf";
import {
  anyPack,
  AnySchema,
  BytesValueSchema,
  Int32ValueSchema,
  ListValueSchema,
  StringValueSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { snapshot } from "./snapshot.ts";

describe("a snapshot of a message", () => {
  it("keeps what its program changes later: bytes, lists, messages in it", () => {
    const bytes = create(BytesValueSchema, { value: new Uint8Array([1, 2]) });
    const list = create(ListValueSchema, { values: [{ kind: { case: "stringValue", value: "as it was" } }] });
    const [keptBytes, keptList] = [snapshot(BytesValueSchema, bytes), snapshot(ListValueSchema, list)];
    bytes.value[0] = 9;
    list.values.push(list.values[0]!);
    list.values[0]!.kind = { case: "stringValue", value: "changed" };
    expect(keptBytes.value).toEqual(new Uint8Array([1, 2]));
    expect(keptList.values.map(({ kind }) => kind.value)).toEqual(["as it was"]);
  });

  it("is made of plain data too, with every member of its message", () => {
    const any = anyPack(Int32ValueSchema, create(Int32ValueSchema, { value: 7 }));
    expect(snapshot(AnySchema, { typeUrl: any.typeUrl, value: any.value })).toEqual(any);
  });

  it("is refused where the message cannot be written, with the field's name", () => {
    expect(() => snapshot(StringValueSchema, { value: 5 as never })).toThrow(
      "cannot set field google.protobuf.StringValue.value: expected string, got number",
    );
    const values = [{ kind: { case: "boolValue" as const, value: "yes" as never } }];
    expect(() => snapshot(ListValueSchema, { values })).toThrow(
      /Value\.bool_value: expected boolean, got string/,
    );
    expect(() => snapshot(Int32ValueSchema, { value: 1.5 })).toThrow(/Int32Value\.value.*1\.5/);
  });
});
