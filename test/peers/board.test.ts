/** The board's server and every client that knows nothing of holdfast. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boardServer } from "../../examples/board/board-server.ts";
import {
  BoardService,
  ListRequestSchema,
  ListResponseSchema,
  PostRequestSchema,
  PostResponseSchema,
} from "../../examples/board/gen/board/v1/board_pb.ts";
import { memoryStore, type Server } from "../../server/index.ts";

const run = promisify(execFile);
let server: Server;
let url: string;
const ran: string[] = [];

beforeAll(async () => {
  server = await boardServer({ store: memoryStore() }, (method, callId) =>
    ran.push(`${method} ${callId ?? "-"}`),
  );
  url = (await server.listen({ host: "127.0.0.1", port: 0 })).url;
});
afterAll(() => server.close({ within: 0 }));

function newCallId(): string {
  return randomBytes(16).toString("base64url");
}

function runsOf(callId: string): number {
  return ran.filter((line) => line.endsWith(callId)).length;
}

async function curl(method: string, body: object, callId?: string): Promise<{ head: string; body: unknown }> {
  const { stdout } = await run("curl", [
    "-si",
    `${url}/board.v1.BoardService/${method}`,
    ...["-H", "content-type: application/json"],
    ...(callId === undefined ? [] : ["-H", `holdfast-call: ${callId}`]),
    ...["-d", JSON.stringify(body)],
  ]);
  const [head = "", text = ""] = stdout.split("\r\n\r\n");
  return { head: head.toLowerCase(), body: JSON.parse(text) as unknown };
}

describe("curl", () => {
  it("calls with JSON, and a command sent twice with one call ID runs once", async () => {
    const callId = newCallId();
    const first = await curl("Post", { title: "by curl" }, callId);
    const second = await curl("Post", { title: "by curl" }, callId);
    expect(first.head).toContain("holdfast-settled: ran");
    expect(first.head).not.toContain("holdfast-repeat");
    expect(second.head).toContain("holdfast-repeat: 1");
    expect(second.body).toEqual(first.body);
    expect(runsOf(callId)).toBe(1);
    expect((await curl("List", {})).body).toMatchObject({ items: [{ title: "by curl" }] });
  });
});

describe("buf curl", () => {
  it.each(["connect", "grpc", "grpcweb"])("calls over %s", async (protocol) => {
    const { stdout } = await run("npx", [
      ...["buf", "curl", "--schema", ".", "--protocol", protocol, "--http2-prior-knowledge"],
      ...["-d", JSON.stringify({ title: `by buf over ${protocol}` })],
      `${url}/board.v1.BoardService/Post`,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ item: { title: `by buf over ${protocol}` } });
  });
});

describe("connect-node", () => {
  const transports: Readonly<Record<string, () => Transport>> = {
    "Connect over HTTP/2": () => createConnectTransport({ baseUrl: url, httpVersion: "2" }),
    "Connect over HTTP/1.1": () => createConnectTransport({ baseUrl: url, httpVersion: "1.1" }),
    gRPC: () => createGrpcTransport({ baseUrl: url }),
    "gRPC-Web over HTTP/1.1": () => createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
  };
  it.each(Object.keys(transports))(
    "calls by %s, and its repeats are answered from what is kept",
    async (name) => {
      const transport = transports[name]?.();
      if (transport === undefined) throw new Error(name);
      const client = createClient(BoardService, transport);
      const headers = { "holdfast-call": newCallId() };
      const heard = new Headers();
      const hear = (header: Headers): void => header.forEach((value, key) => heard.set(key, value));
      const first = await client.post({ title: name }, { headers });
      const second = await client.post({ title: name }, { headers, onHeader: hear, onTrailer: hear });
      expect(second.item?.id).toBe(first.item?.id);
      expect(heard.get("holdfast-repeat")).toBe("1");
      expect(runsOf(headers["holdfast-call"])).toBe(1);
    },
  );
});

describe("grpc-js", () => {
  it("calls, and its repeats are answered from what is kept", async () => {
    const client = new Client(new URL(url).host, credentials.createInsecure());
    const metadata = new Metadata();
    const callId = newCallId();
    metadata.set("holdfast-call", callId);
    const post = (): Promise<string | undefined> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          "/board.v1.BoardService/Post",
          (title: string) => Buffer.from(toBinary(PostRequestSchema, create(PostRequestSchema, { title }))),
          (bytes) => fromBinary(PostResponseSchema, bytes),
          "by grpc-js",
          metadata,
          (error: ServiceError | null, reply) => {
            if (error === null) resolve(reply?.item?.id);
            else reject(error);
          },
        );
      });
    const first = await post();
    expect(first).toMatch(/^issue-\d+$/);
    expect(await post()).toBe(first);
    expect(runsOf(callId)).toBe(1);
    const listed = await new Promise<number>((resolve, reject) => {
      client.makeUnaryRequest(
        "/board.v1.BoardService/List",
        () => Buffer.from(toBinary(ListRequestSchema, create(ListRequestSchema))),
        (bytes) => fromBinary(ListResponseSchema, bytes),
        undefined,
        (error: ServiceError | null, reply) => {
          if (error === null) resolve(reply?.items.length ?? 0);
          else reject(error);
        },
      );
    });
    expect(listed).toBeGreaterThan(0);
    client.close();
  });
});
