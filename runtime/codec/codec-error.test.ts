import { expect, test } from "vitest";
import { CodecError, entryStep, named, within } from "./codec-error.ts";

test("the path grows from the value outwards", () => {
  let error: unknown = new CodecError("expected a string, got 1");
  for (const step of [".n", entryStep("x"), ".labels", "board.v1.Item"]) error = within(error, step);
  expect(error).toMatchObject({
    name: "CodecError",
    path: 'board.v1.Item.labels["x"].n',
    problem: "expected a string, got 1",
    message: 'board.v1.Item.labels["x"].n: expected a string, got 1',
  });
});

test("an error of another kind stays as it is", () => {
  const error = new TypeError("a fault of ours");
  expect(within(error, ".n")).toBe(error);
});

test("values are named without their content, numbers excepted", () => {
  expect([
    named("secret"),
    named(new Uint8Array(3)),
    named([1]),
    named({ a: 1 }),
    named(null),
    named(undefined),
  ]).toEqual(["a string of 6 characters", "bytes", "an array", "an object", "null", "undefined"]);
  expect([named(-0), named(5n), named(10n ** 60n), named({ $typeName: "a.B" })]).toEqual([
    "-0",
    "5",
    "an integer of 61 digits",
    "a a.B",
  ]);
});
