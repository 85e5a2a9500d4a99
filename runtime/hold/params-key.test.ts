import { create, isMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { assert, constantFrom, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import {
  NotebookParamsSchema,
  SlowParamsSchema,
} from "../../test/objects/gen/test/objects/v1/notebook_pb.ts";
import { keyedParams } from "./params-key.ts";

type Params = MessageInitShape<typeof SlowParamsSchema>;

describe("params", () => {
  it("give one key however they were made, and another for other values", () => {
    const key = (init: Params): string => keyedParams(SlowParamsSchema, init).key;
    expect(key({ shard: 1, name: "a" })).toBe(key({ name: "a", shard: 1 }));
    expect(key(create(SlowParamsSchema, { name: "a", shard: 0 }))).toBe(key({ name: "a" }));
    expect(key({ name: "a", shard: 1 })).not.toBe(key({ name: "a", shard: 2 }));
    expect(key({ name: "1" })).not.toBe(key({ shard: 1 }));
  });

  it("have keys that are the same exactly where their bytes are", () => {
    const text = constantFrom("", "1", '1"', '"1', "2=0;", '1"1"2', "é");
    const params = record({ name: text, shard: constantFrom(0, 1, 2, 10) });
    const bytes = (init: Params): string => toBinary(SlowParamsSchema, create(SlowParamsSchema, init)).join();
    assert(
      property(params, params, (one, other) => {
        const keys = [one, other].map((init) => keyedParams(SlowParamsSchema, init).key);
        expect(keys[0] === keys[1]).toBe(bytes(one) === bytes(other));
      }),
    );
  });

  it("are frozen, and not the program's own", () => {
    const own = create(NotebookParamsSchema, { session: "S1" });
    const { params } = keyedParams(NotebookParamsSchema, own);
    expect(params).not.toBe(own);
    expect(Object.isFrozen(params)).toBe(true);
    expect(isMessage(params, NotebookParamsSchema)).toBe(true);
  });

  it.each([
    ["a value of another type", { session: 5 }, "NotebookParams.session: expected a string, got 5"],
    ["a misspelt field", { sesion: "S1" }, "it has no field sesion"],
  ])("that do not fit are refused: %s", (_, init, text) => {
    const make = (): unknown =>
      keyedParams(NotebookParamsSchema, init as MessageInitShape<typeof NotebookParamsSchema>);
    expect(make).toThrow(expect.objectContaining({ code: Code.InvalidArgument }));
    expect(make).toThrow(text);
  });
});
