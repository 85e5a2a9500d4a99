import { create } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { joinedBytes } from "../base/whole-body.ts";
import { EnvelopedMessages, envelopeOf } from "./envelopes.ts";

const messages = ["a", "", "x".repeat(300)];

function envelope(flags: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return joinedBytes([new Uint8Array([flags, 0, 0, 0, bytes.length]), bytes]);
}

const end = envelope(2, '{"metadata":{"x-end":["yes"]}}');
const written = messages.map((value) =>
  envelopeOf(StringValueSchema, create(StringValueSchema, { value }), undefined),
);

function answer(pieces: readonly Uint8Array[], onByte?: () => void) {
  const trailer = new Headers();
  const given = { count: 0, left: false };
  async function* body() {
    try {
      for (const piece of pieces) {
        given.count += 1;
        yield piece;
      }
    } finally {
      given.left = true;
    }
  }
  const parts = {
    body: body(),
    header: new Headers({ "x-head": "1" }),
    trailer,
    json: undefined,
    onByte,
  } as const;
  return { replies: new EnvelopedMessages(StringValueSchema, parts), trailer, given };
}

async function valuesOf(replies: AsyncIterable<{ readonly value: string }>): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of replies) values.push(value);
  return values;
}

/** A body whose reader waits: each piece is offered, and comes by a promise when it is not taken. */
function offeringAnswer() {
  let offer: (piece: Uint8Array) => boolean = () => false;
  let give: (piece: IteratorResult<Uint8Array, undefined>) => void = () => undefined;
  const next = () => new Promise<IteratorResult<Uint8Array, undefined>>((resolve) => (give = resolve));
  const body = {
    onOffer: (take: typeof offer) => void (offer = take),
    [Symbol.asyncIterator]: () => ({ next }),
  };
  const parts = { body, header: new Headers(), trailer: new Headers(), json: undefined };
  const replies = new EnvelopedMessages(StringValueSchema, parts);
  const push = (value: Uint8Array): boolean => {
    const taken = offer(value);
    if (!taken) give({ done: false, value });
    return taken;
  };
  return { replies, push };
}

describe("the envelopes of a streaming answer", () => {
  it("are offered where a piece is one message, and else come as ever", async () => {
    const { replies, push } = offeringAnswer();
    const [first, , long] = written as [Uint8Array, Uint8Array, Uint8Array];
    const offered: string[] = [];
    let takes = true;
    replies.onOffer(({ value }) => takes && offered.push(value) > 0);
    let waiting = replies.next();
    expect(push(first)).toBe(true);
    expect(push(long.subarray(0, 9))).toBe(false); // the middle of one
    await Promise.resolve();
    expect(push(long.subarray(9))).toBe(false);
    expect((await waiting).value?.value).toBe(messages[2]);
    waiting = replies.next();
    expect(push(joinedBytes([first, long]))).toBe(false);
    expect((await waiting).value?.value).toBe("a");
    expect((await replies.next()).value?.value).toBe(messages[2]);
    takes = false;
    waiting = replies.next();
    expect(push(first)).toBe(false);
    expect((await waiting).value?.value).toBe("a");
    waiting = replies.next();
    expect(push(end)).toBe(false);
    await expect(Promise.race([waiting, Promise.resolve("still waiting")])).resolves.toBe("still waiting");
    expect(offered).toEqual(["a"]);
  });

  const all = joinedBytes([...written, end]);

  it.each([1, 2, 3, 5, 7, 64, all.length])("are read from pieces of %d bytes", async (size) => {
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
      all.subarray(at * size, (at + 1) * size),
    );
    const { replies, trailer } = answer(pieces);
    expect(await valuesOf(replies)).toEqual(messages);
    expect(trailer.get("x-end")).toBe("yes");
  });

  it("are read no further than what is asked for, and each piece is told of", async () => {
    let pieceCount = 0;
    const { replies, given } = answer([...written, end], () => (pieceCount += 1));
    expect((await replies.next()).value?.value).toBe("a");
    expect([given.count, pieceCount]).toEqual([1, 1]);
    await replies.return();
    expect(given.left).toBe(true);
    expect(await replies.next()).toEqual({ done: true, value: undefined });
  });

  it("end with the server's error, which has the head's metadata too", async () => {
    const error = envelope(2, '{"error":{"code":"not_found","message":"gone"},"metadata":{"x-end":["yes"]}}');
    const { replies, given } = answer([...written, error]);
    const thrown = await valuesOf(replies).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(ConnectError);
    expect(thrown).toMatchObject({ code: Code.NotFound, rawMessage: "gone" });
    expect((thrown as ConnectError).metadata.get("x-head")).toBe("1");
    expect((thrown as ConnectError).metadata.get("x-end")).toBe("yes");
    expect(given.left).toBe(true);
  });

  it.each([
    ["has no end", written, "missing EndStreamResponse"],
    ["is cut in an envelope", [...written, end.subarray(0, 9)], "not whole"],
    ["goes on behind its end", [...written, end, ...written], "after the EndStreamResponse"],
    ["is compressed, which was not asked for", [envelope(1, "x")], "compressed"],
    ["ends with what is no JSON", [envelope(2, "x")], "invalid end stream"],
    ["holds what is no message", [envelope(0, "\u0001")], "cannot be read"],
  ])("are refused when the answer %s", async (_, pieces, text) => {
    await expect(valuesOf(answer(pieces).replies)).rejects.toThrow(text);
  });

  it("let a fault of the body through as it is", async () => {
    const fault = new Error("cut");
    const body = (async function* () {
      yield written[0] as Uint8Array;
      throw fault;
    })();
    const parts = { body, header: new Headers(), trailer: new Headers(), json: undefined } as const;
    await expect(valuesOf(new EnvelopedMessages(StringValueSchema, parts))).rejects.toBe(fault);
  });
});
