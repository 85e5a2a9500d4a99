/** The head of a plain client's stream comes when the stream is open, and not with its first item. */
import { request as http1Request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { StreamContext } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

let held: Harness;
let tally: TallyServer;
beforeEach(async () => {
  held = harness();
  tally = held.own(
    await startTally({
      handlers: {
        follow(_request, context: StreamContext) {
          context.responseHeader.set("x-topic", "a");
          return context.follow(tally.server.topic(Tally.follow, "a"));
        },
      },
    }),
  );
});
afterEach(() => held[Symbol.asyncDispose]());

const path = "/test.v1.TallyService/Follow";
const headers = { "content-type": "application/connect+json" };
const body = encodeEnvelope(0, Buffer.from("{}"));
const publish = (): void => void tally.server.topic(Tally.follow, "a").publish({ number: 7n });

it("over HTTP/1.1, with what the handler set", async () => {
  const { port } = tally.address;
  const request = http1Request({ port, host: "127.0.0.1", path, method: "POST", headers, agent: false });
  request.end(body);
  const text = await new Promise<string>((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => {
      expect([response.statusCode, response.headers["x-topic"]]).toEqual([200, "a"]);
      expect(response.headers["holdfast-server"]).toBeDefined();
      publish();
      response.on("error", () => undefined);
      response.once("data", (piece: Buffer) => resolve(piece.toString()));
    });
  });
  expect(text).toContain('"7"');
  request.destroy();
});

it("over HTTP/2", async () => {
  const session = connectHttp2(`http://127.0.0.1:${tally.address.port}`);
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  const pieces = new Promise<string>((resolve) => {
    stream.on("data", (piece: Buffer) => {
      if (piece.length > 0) resolve(piece.toString());
    });
  });
  stream.end(body);
  await new Promise((resolve) => stream.once("response", resolve));
  publish();
  expect(await pieces).toContain('"7"');
  session.destroy();
});

it.each([
  ["gRPC", createGrpcTransport],
  ["gRPC-Web", createGrpcWebTransport],
] as const)("over %s, whose end comes in its trailers all the same", async (_, makeTransport) => {
  const transport = makeTransport({
    baseUrl: `http://127.0.0.1:${tally.address.port}`,
    httpVersion: "2",
  } as never);
  const got: bigint[] = [];
  const ended = (async () => {
    const onHeader = (header: Headers): void => {
      expect(header.get("x-topic")).toBe("a");
      publish();
    };
    for await (const { number } of createClient(TallyService, transport).follow({}, { onHeader })) {
      got.push(number);
      void tally.server.close({ within: 0 });
    }
  })();
  await ended.catch(() => undefined);
  expect(got).toEqual([7n]);
});
