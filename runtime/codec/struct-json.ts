import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { NullValue, type Struct, type Value } from "@bufbuild/protobuf/wkt";
import { CodecError } from "./codec-error.ts";
import { setEntry } from "./map-key.ts";
import { refused } from "./scalar-range.ts";

// A field of type google.protobuf.Struct is kept as a JSON object. The binary-like codecs read and write the
// message that it stands for. It is made without its schema, which a page then loads only with schemas that have it.

/** The message of a JSON object. Throws `CodecError` for what JSON cannot hold, or deeper than `depthMax`. */
export function structOf(json: unknown, depthMax: number): Struct {
  if (depthMax <= 0) throw new CodecError("the JSON is nested too deep");
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw refused("a JSON object", json);
  const struct: Struct = { $typeName: "google.protobuf.Struct", fields: {} };
  for (const [key, value] of Object.entries(json)) setEntry(struct.fields, key, valueOf(value, depthMax - 1));
  return struct;
}

function valueOf(json: unknown, depthMax: number): Value {
  return { $typeName: "google.protobuf.Value", kind: kindOf(json, depthMax) };
}

function kindOf(json: unknown, depthMax: number): Value["kind"] {
  if (depthMax <= 0) throw new CodecError("the JSON is nested too deep");
  switch (typeof json) {
    case "number":
      return { case: "numberValue", value: json };
    case "string":
      return { case: "stringValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    case "object":
      if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
      if (!Array.isArray(json)) return { case: "structValue", value: structOf(json, depthMax - 1) };
      return {
        case: "listValue",
        value: {
          $typeName: "google.protobuf.ListValue",
          values: json.map((item) => valueOf(item, depthMax - 2)),
        },
      };
    default:
      throw refused("a JSON value", json);
  }
}

/** The JSON object of a message. A value that was never set is null, as protobuf-es has it. */
export function jsonOfStruct(struct: Struct): JsonObject {
  const json: JsonObject = {};
  for (const [key, value] of Object.entries(struct.fields)) setEntry(json, key, jsonOfValue(value));
  return json;
}

function jsonOfValue(value: Value): JsonValue {
  switch (value.kind.case) {
    case "structValue":
      return jsonOfStruct(value.kind.value);
    case "listValue":
      return value.kind.value.values.map(jsonOfValue);
    case "nullValue":
    case undefined:
      return null;
    default:
      return value.kind.value;
  }
}
