import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { describe, expect, it } from "vitest";
import { ConnectionFault } from "../base/connection-fault.ts";
import { connectAnswer } from "./answer.ts";

const connectError = '{"code":"not_found","message":"no such note"}';
const mebibyte = 1_048_576;

interface Given {
  readonly status: number;
  readonly type?: string;
  readonly encoding?: string;
  readonly body?: string | readonly Uint8Array[];
}

/** An answer whose body notes how much of it was read, and whether it was left before its end. */
function answer({ status, type, encoding, body = "" }: Given) {
  const chunks = typeof body === "string" ? [new TextEncoder().encode(body)] : body;
  const read = { count: 0, left: false };
  async function* stream(): AsyncIterable<Uint8Array> {
    let whole = false;
    try {
      for (const chunk of chunks) {
        read.count += 1;
        yield chunk;
      }
      whole = true;
    } finally {
      read.left = !whole;
    }
  }
  const header = new Headers({ "x-trace": "7" });
  if (type !== undefined) header.set("content-type", type);
  if (encoding !== undefined) header.set("content-encoding", encoding);
  const response: UniversalClientResponse = { status, header, body: stream(), trailer: new Headers() };
  return { response, read };
}

async function bytesOf(response: UniversalClientResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function textOf(response: UniversalClientResponse): Promise<string> {
  return (await bytesOf(response)).toString();
}

async function faultOf(given: Given, streaming = false): Promise<ConnectionFault> {
  const error: unknown = await connectAnswer(answer(given).response, streaming).catch((e: unknown) => e);
  if (error instanceof ConnectionFault) return error;
  throw new Error("it must be a connection fault", { cause: error });
}

describe("HTTP 200", () => {
  const types: readonly (readonly [string | undefined, "unary" | "streaming" | "nobody's"])[] = [
    ["application/proto", "unary"],
    ["application/json", "unary"],
    ["Application/JSON; charset=utf-8", "unary"],
    [" application/proto ;x=1", "unary"],
    ["application/connect+proto", "streaming"],
    ["application/connect+json; charset=utf-8", "streaming"],
    ["application/connect+xml", "nobody's"],
    ["application/grpc+proto", "nobody's"],
    ["application/grpc-web+proto", "nobody's"],
    ["application/jsonx", "nobody's"],
    ["text/html", "nobody's"],
    ["", "nobody's"],
    [undefined, "nobody's"],
  ];
  it.each(types)("of type %s is an answer to a call that is %s", async (type, whose) => {
    for (const streaming of [true, false]) {
      const given = { status: 200, body: "x", ...(type === undefined ? {} : { type }) };
      if (whose === (streaming ? "streaming" : "unary")) {
        const { response, read } = answer(given);
        expect(await connectAnswer(response, streaming)).toBe(response);
        expect(read.count).toBe(0);
      } else {
        expect(await faultOf(given, streaming)).toMatchObject({ kind: "not-our-answer", sent: true });
      }
    }
  });
});

describe("a status by which a proxy says that the server cannot serve now", () => {
  it.each([502, 503, 504])("%s is handed on as it is, whatever the body", async (status) => {
    for (const type of ["text/html", "application/json", undefined]) {
      const { response } = answer({ status, body: "<html>", ...(type === undefined ? {} : { type }) });
      expect(await connectAnswer(response, false)).toBe(response);
      expect(await connectAnswer(response, true)).toBe(response);
    }
  });

  it("429 becomes resource_exhausted, with the headers that say when to come again", async () => {
    const { response } = answer({ status: 429, type: "text/html", encoding: "gzip", body: "<html>" });
    response.header.set("retry-after", "7");
    response.header.set("content-length", "6");
    const given = await connectAnswer(response, false);
    expect(JSON.parse(await textOf(given))).toEqual({ code: "resource_exhausted", message: "HTTP 429" });
    expect(Object.fromEntries(given.header)).toEqual({
      "content-type": "application/json",
      "retry-after": "7",
      "x-trace": "7",
    });
    expect(response.header.get("content-type")).toBe("text/html");
  });

  it("429 with an error of Connect is handed on", async () => {
    const { response } = answer({ status: 429, type: "application/json", body: connectError });
    expect(await connectAnswer(response, false)).toBe(response);
  });
});

describe("any other status", () => {
  const statuses = [100, 201, 204, 301, 302, 304, 400, 401, 403, 404, 408, 409, 413, 500, 501, 511];

  it.each(statuses)("%s with an error of Connect is handed on whole", async (status) => {
    const { response } = answer({ status, type: "application/json; charset=utf-8", body: connectError });
    const given = await connectAnswer(response, false);
    expect(given).toMatchObject({ status, header: response.header, trailer: response.trailer });
    expect(await textOf(given)).toBe(connectError);
  });

  it.each(statuses)("%s with anything else is not our server's", async (status) => {
    for (const type of ["text/html", "application/proto", "text/json", undefined]) {
      const given = { status, body: connectError, ...(type === undefined ? {} : { type }) };
      expect(await faultOf(given)).toMatchObject({ kind: "not-our-answer", sent: true });
    }
  });

  it.each([
    "",
    "{",
    "null",
    "[]",
    '"not_found"',
    "{}",
    '{"message":"no"}',
    '{"code":5}',
    '{"code":"not found"}',
    '{"code":"NOT_FOUND"}',
    '{"error":{"code":"not_found"}}',
  ])("with the JSON %s is not our server's", async (body) => {
    expect((await faultOf({ status: 404, type: "application/json", body })).kind).toBe("not-our-answer");
  });

  it("with an error in many pieces is put together", async () => {
    const pieces = Array.from(new TextEncoder().encode(connectError), (byte) => new Uint8Array([byte]));
    const { response } = answer({ status: 404, type: "application/json", body: pieces });
    expect(await textOf(await connectAnswer(response, false))).toBe(connectError);
  });

  it("with a compressed error is left to Connect; identity is no compression", async () => {
    const bytes = new Uint8Array([31, 139, 8, 0]);
    const zipped = { status: 404, type: "application/json", encoding: "gzip", body: [bytes] };
    const given = await connectAnswer(answer(zipped).response, false);
    expect(await bytesOf(given)).toEqual(Buffer.from(bytes));
    expect((await faultOf({ ...zipped, encoding: "identity" })).kind).toBe("not-our-answer");
  });

  it("with an error of 1 MiB is read; of a longer one no more than that is", async () => {
    const filled = (bytes: number): string =>
      `${connectError.slice(0, -1)}${" ".repeat(bytes - connectError.length)}}`;
    const most = { status: 404, type: "application/json", body: filled(mebibyte) };
    expect((await textOf(await connectAnswer(answer(most).response, false))).length).toBe(mebibyte);
    expect((await faultOf({ ...most, body: filled(mebibyte + 1) })).kind).toBe("not-our-answer");
    const pieces = Array.from({ length: 100 }, () => new Uint8Array(mebibyte / 4));
    const { response, read } = answer({ ...most, body: pieces });
    await expect(connectAnswer(response, false)).rejects.toThrow(ConnectionFault);
    expect(read).toEqual({ count: 5, left: true });
  });

  it("whose body fails is that failure", async () => {
    const { response } = answer({ status: 404, type: "application/json" });
    const cut = new ConnectionFault("cut", "cut", { sent: true });
    const body = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject<IteratorResult<Uint8Array>>(cut) }),
    };
    await expect(connectAnswer({ ...response, body }, false)).rejects.toBe(cut);
  });
});

it("an answer that is not ours is described by its status and type, and what may stand between", async () => {
  expect((await faultOf({ status: 200, type: "text/html; charset=utf-8" })).message).toBe(
    "HTTP 200 with an answer of type text/html, which is no Connect answer: a proxy, a sign-in page or another server may stand between",
  );
  expect((await faultOf({ status: 302 })).message).toMatch(
    /^HTTP 302 with an answer without a content type,/,
  );
});
