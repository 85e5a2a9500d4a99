/** Calls over each kind of wire, in both codecs: the same outcomes as over HTTP. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { headerNames } from "../../runtime/call/headers.ts";
import type { TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { failureOf, shortTiming } from "../support/socket-world.ts";
import { type WireKind, type WireWorld, wireWorld } from "../support/wire-world.ts";

const kinds: readonly WireKind[] = ["memory", "WebSocket", "Connect", "MessagePort"];
const all = kinds.flatMap((kind) => (["json", "msgpack"] as const).map((codec) => ({ kind, codec })));

/** A promise with its handles, for what a handler waits for. */
function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

describe.each(all)("a call over $kind in $codec", ({ kind, codec }) => {
  let world: WireWorld | undefined;

  async function start(
    handlers: Partial<TallyHandlers> = {},
    options: Parameters<typeof wireWorld>[1] = {},
  ): Promise<WireWorld> {
    world = await wireWorld(kind, { codec, timing: shortTiming, ...options }, { handlers });
    return world;
  }

  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
    world = undefined;
  });

  it("has its reply, with the answer's marks", async () => {
    const { client, wires } = await start();
    let header = new Headers();
    const reply = await client.add({ amount: 3n, text: "é" }, { onHeader: (its) => (header = its) });
    expect(reply).toMatchObject({ total: 3n, text: "é" });
    expect(Object.fromEntries(header)).toMatchObject({
      [headerNames.server]: "1",
      [headerNames.settled]: "ran",
    });
    expect(header.get(headerNames.caller)).toMatch(/./);
    expect((await client.read({ text: "x" })).total).toBe(3n);
    expect(wires).toHaveLength(1);
  });

  it("carries headers and trailers both ways, and runs interceptors around the try", async () => {
    const seen: string[] = [];
    const interceptor: Interceptor = (next) => async (request) => {
      request.header.set("x-from", "interceptor");
      const response = await next(request);
      seen.push(response.trailer.get("x-trailer") ?? "");
      return response;
    };
    const { client } = await start(
      {
        read: (request, ctx) => {
          ctx.responseHeader.set("x-answer", ctx.requestHeader.get("x-from") ?? "");
          ctx.responseTrailer.set("x-trailer", ctx.requestHeader.get("x-own") ?? "");
          return { text: request.text };
        },
      },
      { interceptors: [interceptor] },
    );
    let answer: string | null = null;
    await client.read(
      { text: "x" },
      { headers: { "x-own": "mine" }, onHeader: (its) => (answer = its.get("x-answer")) },
    );
    expect(answer).toBe("interceptor");
    expect(seen).toEqual(["mine"]);
  });

  it("ends with the server's refusal, kept by the journal", async () => {
    const { client } = await start({
      add: () => {
        throw new ConnectError("no such tally", Code.NotFound);
      },
    });
    const error = await failureOf(client.add({ amount: 1n }));
    expect(error).toMatchObject({ code: Code.NotFound, outcome: "refused", rawMessage: "no such tally" });
  });

  it("is tried again after a fault of the handler, and tells nobody what that was", async () => {
    let runs = 0;
    const { client } = await start({
      add: () => {
        runs += 1;
        if (runs < 3) throw new Error("a secret");
        return { total: 7n };
      },
    });
    expect((await client.add({ amount: 1n })).total).toBe(7n);
    expect(runs).toBe(3);
    const error = await failureOf(
      (await start({ read: () => Promise.reject(new Error("a secret")) })).client.read({}),
    );
    expect(error.message).not.toContain("secret");
  });

  it("runs once when the wire is cut while it runs, and has the first run's reply", async () => {
    const [began, held] = [gate(), gate()];
    const { client, cut, wires, server } = await start({
      add: async ({ amount }) => {
        server.count.runs += 1;
        began.open();
        await held.passed;
        return { total: amount };
      },
    });
    const reply = client.add({ amount: 5n });
    await began.passed;
    cut();
    held.open();
    expect((await reply).total).toBe(5n);
    expect(server.count.runs).toBe(1);
    expect(wires.length).toBeGreaterThan(1);
  });

  it("is never sent again when it is sent at most once", async () => {
    const [began, held] = [gate(), gate()];
    const { client, cut, server } = await start({
      addAtMostOnce: async () => {
        server.count.runs += 1;
        began.open();
        await held.passed;
        return { total: 1n };
      },
    });
    const failed = failureOf(client.addAtMostOnce({ amount: 1n }));
    await began.passed;
    cut();
    expect(await failed).toMatchObject({ reason: "NO_REPLY", outcome: "unknown" });
    held.open();
    expect(server.count.runs).toBe(1);
  });

  it("tells a query's handler when its caller waits no longer", async () => {
    const [began, ended] = [gate(), gate()];
    const { client } = await start({
      read: async (_, ctx) => {
        ctx.signal.addEventListener("abort", ended.open);
        began.open();
        await ended.passed;
        return {};
      },
    });
    const stop = new AbortController();
    const failed = failureOf(client.read({}, { signal: stop.signal }));
    await began.passed;
    stop.abort();
    expect(await failed).toMatchObject({ reason: "ABORTED" });
    await ended.passed;
  });

  it("ends with its budget, which the handler is told", async () => {
    const ended = gate();
    let leftMs: number | undefined;
    const { client } = await start({
      read: async (_, ctx) => {
        leftMs = ctx.deadline === undefined ? undefined : ctx.deadline - ctx.clock.monotonic();
        ctx.signal.addEventListener("abort", ended.open);
        await ended.passed;
        return {};
      },
    });
    const error = await failureOf(client.read({}, { timeoutMs: 200 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", code: Code.DeadlineExceeded });
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(200);
    await ended.passed;
  });

  it("has its own reply among 300 others, whose handlers start in the order of the calls", async () => {
    const order: bigint[] = [];
    const { client } = await start(
      {
        add: async ({ amount }) => {
          order.push(amount);
          for (let hops = 0n; hops < amount % 7n; hops += 1n) await Promise.resolve();
          return { total: amount };
        },
      },
      // A busy machine takes its time, and a new try of each would not help it.
      { timing: {} },
    );
    await client.read({});
    const amounts = Array.from({ length: 300 }, (_, at) => BigInt(at));
    const replies = await Promise.all(amounts.map((amount) => client.add({ amount }, { timeoutMs: 60_000 })));
    expect(replies.map(({ total }) => total)).toEqual(amounts);
    expect(order).toEqual(amounts);
  });

  it("goes over HTTP when its request is larger than 1 MiB, or brings a sign-in of its own", async () => {
    const { client } = await start();
    const overHttp = async (text: string, headers: Record<string, string> = {}): Promise<boolean> => {
      const types: (string | null)[] = [];
      await client.read(
        { text },
        { headers, timeoutMs: 60_000, onHeader: (its) => types.push(its.get("content-type")) },
      );
      return types[0] !== null;
    };
    expect(await overHttp("x")).toBe(false);
    expect(await overHttp("x".repeat(1_000_000))).toBe(false);
    expect(await overHttp("x".repeat(1_100_000))).toBe(true);
    expect(await overHttp("x", { cookie: "a=b" })).toBe(true);
    expect(await overHttp("x", { authorization: "Bearer other" })).toBe(true);
  });
});
