/** What is on every answer, over every protocol: our headers, a command's mark, the reply of the first run. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reasonFrom } from "../../runtime/base/errors.ts";
import { createServer } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { AddRequestSchema, AddResponseSchema, TallyService } from "../gen/test/v1/tally_pb.ts";
import { post, told } from "../support/raw-calls.ts";
import { startTally, tallyHandlers, type TallyServer } from "../support/tally-server.ts";

let tally: TallyServer;

beforeAll(async () => {
  tally = await startTally({
    build: { id: "2.1.0" },
    handlers: {
      add: ({ amount, text }, ctx) => {
        tally.count.runs += 1;
        if (text === "refuse") throw new ConnectError("not enough", Code.FailedPrecondition);
        if (text === "throw") throw new Error("a secret of the database");
        if (text === "unwritable") return { at: { seconds: 10n ** 15n, nanos: 0 } };
        if (text === "foreign") {
          const headers = { "holdfast-settled": "ran", "content-type": "text/html", "x-kept": "1" };
          throw new ConnectError("from elsewhere", Code.Unavailable, headers);
        }
        ctx.responseHeader.set("x-first", "1");
        tally.count.total += amount;
        return { total: tally.count.total };
      },
    },
  });
});
afterAll(() => tally.server.close({ within: 0 }));

let ids = 0;
const freshId = (): string => `call-id-of-a-test-${String((ids += 1)).padStart(6, "0")}`;

const transports: Record<string, () => Transport> = {
  "Connect over HTTP/1.1": () => createConnectTransport({ baseUrl: tally.address.url, httpVersion: "1.1" }),
  "Connect over HTTP/2": () => createConnectTransport({ baseUrl: tally.address.url, httpVersion: "2" }),
  "Connect in JSON": () =>
    createConnectTransport({ baseUrl: tally.address.url, httpVersion: "2", useBinaryFormat: false }),
  gRPC: () => createGrpcTransport({ baseUrl: tally.address.url }),
  "gRPC-Web over HTTP/1.1": () => createGrpcWebTransport({ baseUrl: tally.address.url, httpVersion: "1.1" }),
  "gRPC-Web over HTTP/2": () => createGrpcWebTransport({ baseUrl: tally.address.url, httpVersion: "2" }),
};

describe.each(Object.entries(transports))("%s", (_name, transport) => {
  const failure = (call: Promise<unknown>): Promise<ConnectError> =>
    call.then(
      () => expect.fail("the call succeeded"),
      (error: unknown) => ConnectError.from(error),
    );

  test("a command's reply says that it ran, by whom it was answered, and when", async () => {
    let header = new Headers();
    await createClient(TallyService, transport()).add({ amount: 1n }, { onHeader: (its) => (header = its) });
    expect(header.get("holdfast-server")).toBe('1;build="2.1.0"');
    expect(header.get("holdfast-settled")).toBe("ran");
    expect(header.get("holdfast-caller")).toMatch(/^[\w-]+\.[\w-]+$/);
    expect(Math.abs(Number(header.get("holdfast-now")) - Date.now())).toBeLessThan(60_000);
  });

  test("a repeat runs nothing, has the first reply, and none of the headers that the handler set", async () => {
    const client = createClient(TallyService, transport());
    const headers = { "holdfast-call": freshId() };
    const heads: Headers[] = [];
    const options = { headers, onHeader: (its: Headers): unknown => heads.push(its) };
    const first = await client.add({ amount: 1n }, options);
    const again = await client.add({ amount: 1n }, options);
    expect(again.total).toBe(first.total);
    expect(heads.map((its) => [its.get("holdfast-repeat"), its.get("x-first")])).toEqual([
      [null, "1"],
      ["1", null],
    ]);
  });

  test("a query's answer has no mark", async () => {
    let header = new Headers();
    await createClient(TallyService, transport()).read({}, { onHeader: (its) => (header = its) });
    expect(header.get("holdfast-server")).not.toBeNull();
    expect(header.has("holdfast-settled")).toBe(false);
  });

  test.each([
    ["refuse", Code.FailedPrecondition, "refused"],
    ["throw", Code.Internal, "later"],
  ] as const)("a handler that answers %s", async (text, code, mark) => {
    const headers = { "holdfast-call": freshId() };
    const error = await failure(createClient(TallyService, transport()).add({ text }, { headers }));
    expect([error.code, error.metadata.get("holdfast-settled")]).toEqual([code, mark]);
    expect(error.rawMessage).not.toContain("secret");
  });

  test("a reply too large to read, and a missing ID, name themselves and say none", async () => {
    const client = createClient(TallyService, transport());
    const large = await failure(client.add({ text: "x".repeat(5_000_000) }));
    expect([reasonFrom(large), large.code, large.metadata.get("holdfast-settled")]).toEqual([
      "TOO_LARGE",
      Code.ResourceExhausted,
      "none",
    ]);
    const missing = await failure(client.addOnlyWithId({}));
    expect([reasonFrom(missing), missing.metadata.get("holdfast-settled")]).toEqual([
      "CALL_ID_MISSING",
      "none",
    ]);
  });

  test("headers of another server's answer do not go out with an error of it", async () => {
    const error = await failure(
      createClient(TallyService, transport()).add(
        { text: "foreign" },
        { headers: { "holdfast-call": freshId() } },
      ),
    );
    expect([error.code, error.metadata.get("holdfast-settled")]).toEqual([Code.Unavailable, "later"]);
    expect(error.metadata.get("x-kept")).toBe("1");
  });

  test("a stream gives its items, and says who answers", async () => {
    let header = new Headers();
    const items: bigint[] = [];
    const client = createClient(TallyService, transport());
    for await (const item of client.follow({ count: 3n }, { onHeader: (its) => (header = its) })) {
      items.push(item.number);
    }
    expect(items).toEqual([1n, 2n, 3n]);
    expect(header.get("holdfast-server")).not.toBeNull();
  });
});

test("a reply that cannot be written is told as run, since its effect stands", async () => {
  const before = tally.count.runs;
  const headers = { "holdfast-call": freshId() };
  for (const repeat of [null, "1"]) {
    const response = await post(tally.address, "Add", { text: "unwritable" }, headers);
    expect(response.headers.get("holdfast-repeat")).toBe(repeat);
    expect(await told(response)).toMatchObject({ status: 409, mark: "ran", code: "already_exists" });
  }
  expect(tally.count.runs).toBe(before + 1);
});

test("a command without an ID: ran, refused, and unknown after a fault that no repeat may follow", async () => {
  expect(await told(await post(tally.address, "Add", {}))).toMatchObject({ mark: "ran" });
  expect(await told(await post(tally.address, "Add", { text: "refuse" }))).toMatchObject({ mark: "refused" });
  expect(await told(await post(tally.address, "Add", { text: "throw" }))).toMatchObject({
    mark: "unknown",
    code: "internal",
  });
});

test.each([
  ["what is no JSON", { body: "{" }, 400, "none"],
  ["a field of another type", { body: { amount: {} } }, 400, "none"],
  ["an unknown compression", { headers: { "content-encoding": "lzma" } }, 501, "none"],
  ["a time-out that is no number", { headers: { "connect-timeout-ms": "soon" } }, 400, "none"],
  ["a form of another site", { headers: { "content-type": "text/plain" } }, 415, "none"],
  ["a call ID that is none", { headers: { "holdfast-call": "a b" } }, 400, "none"],
  ["an anonymous secret that is none", { headers: { "holdfast-anon": "short" } }, 400, "none"],
] as const)("Connect's own errors and ours carry the mark: %s", async (_what, request, status, mark) => {
  const before = tally.count.runs;
  const { body, headers } = { body: {}, headers: {}, ...request };
  const answer = await told(await post(tally.address, "Add", body, headers));
  expect(answer).toMatchObject({ status, mark, server: '1;build="2.1.0"' });
  expect(tally.count.runs).toBe(before);
});

test("a GET of a command is no way to run it from another site", async () => {
  const response = await fetch(`${tally.address.url}/test.v1.TallyService/Add?encoding=json&message={}`);
  expect(await told(response)).toMatchObject({ status: 405, mark: "none" });
});

test("a GET of a query is answered", async () => {
  const url = `${tally.address.url}/test.v1.TallyService/Read?encoding=json&message=${encodeURIComponent('{"text":"hi"}')}`;
  expect(await (await fetch(url)).json()).toMatchObject({ text: "hi" });
});

test("a budget of 30 days passes, and the handler is told the whole of it", async () => {
  let leftMs = 0;
  await using other = await startTally({
    handlers: {
      read: (_request, ctx) => {
        leftMs = (ctx.deadline ?? 0) - ctx.clock.monotonic();
        expect(ctx.signal.aborted).toBe(false);
        return {};
      },
    },
  });
  const days30Ms = 30 * 24 * 3_600_000;
  for (const transport of [
    createConnectTransport({ baseUrl: other.address.url, httpVersion: "1.1" }),
    createGrpcTransport({ baseUrl: other.address.url }),
  ]) {
    const headers = { "grpc-timeout": "720H", "connect-timeout-ms": `${days30Ms}` };
    await createClient(TallyService, transport).read({}, { headers });
    expect(leftMs).toBeGreaterThan(days30Ms - 60_000);
  }
});

describe("an unknown path", () => {
  const path = "/test.v1.TallyService/Nothing";

  test("is unimplemented in Connect's words, with mark none", async () => {
    const answer = await told(await post(tally.address, "Nothing", {}));
    expect(answer).toMatchObject({ status: 501, mark: "none", code: "unimplemented" });
    expect(answer.text).toContain("Nothing");
  });

  test.each([
    ["gRPC", () => createGrpcTransport({ baseUrl: tally.address.url })],
    ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: tally.address.url, httpVersion: "1.1" })],
    ["a stream of Connect", () => createConnectTransport({ baseUrl: tally.address.url, httpVersion: "1.1" })],
  ] as const)("is unimplemented for %s", async (name, transport) => {
    const known = name.startsWith("a stream") ? TallyService.method.follow : TallyService.method.add;
    const method = { ...known, name: "Nothing" };
    const error = await (async () => {
      if (method.methodKind !== "unary") {
        const stream = await transport().stream(method, undefined, undefined, undefined, one());
        for await (const item of stream.message) expect.fail(`there is an item ${item.number}`);
      } else {
        await transport().unary(method, undefined, undefined, undefined, {});
      }
      throw new Error("it succeeded");
    })().catch((caught: unknown) => ConnectError.from(caught));
    expect([error.code, reasonFrom(error)]).toEqual([Code.Unimplemented, "NO_SUCH_METHOD"]);
  });

  test("is told to a browser, too", async () => {
    const response = await fetch(`${tally.address.url}${path}`);
    expect(await told(response)).toMatchObject({ status: 501, server: '1;build="2.1.0"' });
  });

  async function* one(): AsyncGenerator<Record<string, never>> {
    yield {};
  }
});

test("grpc-js gets the reply, and a refusal with our headers among its trailers", async () => {
  const client = new grpc.Client(tally.address.url.replace("http://", ""), grpc.credentials.createInsecure());
  const call = (text: string): Promise<{ total: bigint } | grpc.ServiceError> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(
        "/test.v1.TallyService/Add",
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => fromBinary(AddResponseSchema, bytes),
        toBinary(AddRequestSchema, { $typeName: "test.v1.AddRequest", amount: 1n, text }),
        (error, reply) => resolve(error ?? (reply as { total: bigint })),
      );
    });
  expect(await call("")).toMatchObject({ total: tally.count.total });
  const refused = (await call("refuse")) as grpc.ServiceError;
  expect(refused.code).toBe(grpc.status.FAILED_PRECONDITION);
  expect(refused.metadata.get("holdfast-settled")).toEqual(["refused"]);
  client.close();
});

test("curl calls a command exactly once with one header", async () => {
  const run = (): Promise<{ stdout: string }> =>
    promisify(execFile)("curl", [
      "-s",
      ...["-H", "content-type: application/json", "-H", "holdfast-call: from-curl-0123456789"],
      ...["-d", '{"amount":"5"}', `${tally.address.url}/test.v1.TallyService/Add`],
    ]);
  const first = await run();
  expect(JSON.parse(first.stdout)).toHaveProperty("total");
  expect((await run()).stdout).toBe(first.stdout);
});

test("the routes mount on Connect's own adapter, and the fallback answers the rest", async () => {
  const count = { total: 0n, runs: 0 };
  const server = createServer().implement(Tally, tallyHandlers(count));
  const { routes, fallback, contextValues } = server;
  const http = createHttpServer(connectNodeAdapter({ routes, fallback, contextValues }));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const address = { host: "127.0.0.1", port, url: `http://127.0.0.1:${port}` };
  expect(await told(await post(address, "Add", { amount: 1 }))).toMatchObject({ status: 200, mark: "ran" });
  expect(await told(await post(address, "Nothing", {}))).toMatchObject({ status: 501, mark: "none" });
  http.closeAllConnections();
  http.close();
  await server.close();
});
