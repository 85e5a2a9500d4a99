import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Mark, ResultSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { Tally } from "../../test/gen/test/v1/tally_holdfast.ts";
import { formatCallHeader, headerNames } from "../call/headers.ts";
import { msgpackCodec } from "../codec/msgpack.ts";
import type { Waiter } from "../wire/call-numbers.ts";
import { toLinkError } from "../wire/link-error.ts";
import type { WireCalls } from "./wire-calls.ts";
import { wireTry } from "./wire-transport.ts";

const own = "ownownownownownownowno";
const theirs = "theirstheirstheirsthei";

/** The headers of the answer to a call of this anonymous link, over a wire whose server is about to leave. */
async function answerTo(anon: string): Promise<Headers> {
  const refusal = create(ResultSchema, {
    mark: Mark.LATER,
    outcome: { case: "error", value: toLinkError(new ConnectError("draining", Code.Unavailable)) },
  });
  const calls = {
    end: { open: true, codec: msgpackCodec },
    send: (_one: unknown, waiter: Waiter) => {
      waiter.result(refusal);
      return 1;
    },
  };
  const { transport } = wireTry({
    ...{ calls: calls as unknown as WireCalls, server: "1", tag: "e.own", token: undefined, link: own },
    ...{ anonymous: own, url: "https://server.test", interceptors: [], fault: () => true },
    http: () => {
      throw new Error("not over HTTP");
    },
  });
  const lane = { lane: own, seq: 1, settled: 0, tries: 1, firstSent: { serverMs: 1 } };
  const header = new Headers({
    [headerNames.call]: formatCallHeader({ id: "callidcallidcallidcall", lane }),
    [headerNames.anon]: anon,
  });
  const ended = transport
    .unary(Tally.add.method, undefined, undefined, header, {})
    .catch((error: unknown) => error);
  return ((await ended) as ConnectError).metadata;
}

it("an answer from before its caller was known names the wire's caller for the wire's own calls", async () => {
  expect((await answerTo(own)).get(headerNames.caller)).toBe("e.own");
});

it("an answer from before its caller was known names nobody for a call of another anonymous link", async () => {
  expect((await answerTo(theirs)).has(headerNames.caller)).toBe(false);
});
