import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { oneRequest, onlyReply } from "./plain-streams.ts";

async function* items<T>(...values: readonly T[]): AsyncIterable<T> {
  yield* values;
}

test("one request is an iterable of it", async () => {
  const got: string[] = [];
  for await (const request of oneRequest("a")) got.push(request);
  expect(got).toEqual(["a"]);
});

test("the only reply is given, also when it is undefined", async () => {
  expect(await onlyReply(items("a"))).toBe("a");
  await expect(onlyReply(items(undefined))).resolves.toBeUndefined();
});

test("the status after the reply counts: a call that fails at its end fails", async () => {
  const failing = async function* (): AsyncIterable<string> {
    yield "a";
    throw new Error("at its end");
  };
  await expect(onlyReply(failing())).rejects.toThrow("at its end");
});

test("no reply and a second reply break the protocol", async () => {
  await expect(onlyReply(items())).rejects.toMatchObject({
    code: Code.Unimplemented,
    rawMessage: "protocol error: missing response message",
  });
  await expect(onlyReply(items("a", "b"))).rejects.toMatchObject({
    code: Code.Unimplemented,
    rawMessage: "protocol error: received extra messages",
  });
});
