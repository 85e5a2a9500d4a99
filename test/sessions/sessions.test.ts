/** Sessions over real sockets: whose signs count, what ends, and what a restart leaves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { Authenticate, ServerOptions } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/sqlite-store.ts";
import type { TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { failureOf, socketWorld } from "../support/socket-world.ts";

const goneAfterMs = 180_000;
const roundMs = 5_000;

const byToken: Authenticate = ({ token }) => (token === undefined ? undefined : { by: token });

async function world(
  options: ServerOptions & { readonly handlers?: Partial<TallyHandlers>; readonly clock?: VirtualClock } = {},
  signIn: LinkOptions = { token: () => "ada", account: "ada" },
) {
  const { clock = virtualClock(Date.now()) } = options;
  const gone: string[] = [];
  const opened = await socketWorld(
    { session: "laptop", ...signIn },
    {
      authenticate: byToken,
      onSessionGone: ({ caller, name }) => void gone.push(`${caller.by ?? "?"} ${name}`),
      ...options,
      clock,
    },
  );
  return { ...opened, clock, gone };
}

async function quiet(clock: VirtualClock, ms: number): Promise<void> {
  await clock.advance(ms);
  await clock.settle();
}

describe("a session", () => {
  it("begins with a call of any kind, and shows what its newest heartbeat said", async () => {
    await using its = await world();
    const { client, server } = its;
    await client.read({});
    expect(server.server.sessions()).toMatchObject([
      { caller: { by: "ada" }, name: "laptop", state: "present", fact: undefined, streamCount: 0 },
    ]);
    await client.beat({});
    expect(server.server.sessions()).toMatchObject([{ fact: { $typeName: "test.v1.BeatRequest" } }]);
  });

  it("tells the handler its name", async () => {
    const seen: (string | undefined)[] = [];
    await using its = await world({
      handlers: {
        beat: (_, { session }) => {
          seen.push(session);
          return {};
        },
      },
    });
    const { client } = its;
    await client.beat({});
    expect(seen).toEqual(["laptop"]);
  });

  it("lives by calls and by heartbeats, and an open stream is none", async () => {
    await using its = await world({ handlers: { follow: endless } });
    const { client, clock, gone, server, proxy } = its;
    await client.add({ amount: 1n });
    const items = plainReader(proxy.origin, "ada");
    await items.next();
    await items.next();
    const end = items.next();
    const ended = expect(end).rejects.toMatchObject({ code: Code.Unavailable });
    for (const sign of [() => client.beat({}), () => client.read({}), () => client.nudge({})]) {
      await quiet(clock, 100_000);
      await sign();
    }
    expect(gone).toEqual([]);
    expect(server.server.sessions()).toMatchObject([{ streamCount: 1 }]);
    await quiet(clock, goneAfterMs + roundMs);
    expect(gone).toEqual(["ada laptop"]);
    expect(server.server.sessions()).toEqual([]);
    await ended;
  });

  it("is one for all that a client asks who has not signed in, streams and commands and heartbeats", async () => {
    await using its = await world({ handlers: { follow: endless } }, {});
    const { client, clock, gone, server } = its;
    await client.add({ amount: 1n });
    await client.read({});
    const items = client.follow({})[Symbol.asyncIterator]();
    await items.next();
    for (const ms of [100_000, 100_000]) {
      await client.beat({});
      expect(server.server.sessions()).toMatchObject([{ name: "laptop", streamCount: 1 }]);
      await quiet(clock, ms);
    }
    expect(gone).toEqual([]);
    await items.return?.();
  });

  it("that is gone begins anew with its next call", async () => {
    await using its = await world();
    const { client, clock, gone, server } = its;
    await client.beat({});
    await quiet(clock, goneAfterMs + roundMs);
    await client.add({ amount: 1n });
    expect(server.server.sessions()).toMatchObject([{ name: "laptop", beganAtMs: clock.now() }]);
    expect(gone).toEqual(["ada laptop"]);
  });

  it("is refused a heartbeat that is larger than the server holds, and lives on by its other calls", async () => {
    await using its = await world({ limits: { heartbeatBytesMost: 7 } });
    const { proxy, server } = its;
    const beat = (byteCount: number): Promise<Response> =>
      fetch(`${proxy.origin}/test.v1.TallyService/Beat`, {
        method: "POST",
        headers: { "content-type": "application/proto", "holdfast-session": "laptop" },
        // A field that this server does not know, of so many bytes.
        body: Uint8Array.of(0x7a, byteCount, ...new Uint8Array(byteCount)),
      });
    expect((await beat(5)).status).toBe(200);
    const refused = await beat(6);
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("7 bytes at most")]);
    expect(server.server.sessions()).toMatchObject([{ name: "laptop" }]);
  });
});

describe("a server on a file", () => {
  it("ends a session whose end fell into its restart once, together with what its end writes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-sessions-"));
    const file = join(folder, "tally.db");
    const written: string[] = [];
    const onSessionGone: NonNullable<ServerOptions["onSessionGone"]> = ({ caller, name }, { transaction }) =>
      transaction(() => void written.push(`${caller.by ?? "?"} ${name}`));
    const run = async (use: (its: Awaited<ReturnType<typeof world>>) => Promise<void>): Promise<void> => {
      const its = await world({ store: sqliteStore(file), onSessionGone });
      await use(its);
      await its.harness[Symbol.asyncDispose]();
    };
    try {
      await run(async ({ client, clock }) => {
        await client.add({ amount: 1n });
        await quiet(clock, 100_000);
      });
      await run(({ clock }) => quiet(clock, goneAfterMs - 1));
      expect(written).toEqual([]);
      await run(({ clock }) => quiet(clock, goneAfterMs + 2 * roundMs));
      expect(written).toEqual(["ada laptop"]);
      await run(({ clock }) => quiet(clock, goneAfterMs + 2 * roundMs));
      expect(written).toEqual(["ada laptop"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a sign-in that ends", () => {
  it("ends the streams that rest on it, and refuses what comes with it then", async () => {
    const clock = virtualClock(Date.now());
    const until = clock.now() + 60_000;
    await using its = await world({
      clock,
      authenticate: () => ({ by: "ada", until }),
      handlers: { follow: endless },
    });
    const { client, proxy } = its;
    const items = plainReader(proxy.origin, "ada");
    await items.next();
    await clock.advance(59_999);
    await items.next();
    const ended = expect(items.next()).rejects.toMatchObject({ code: Code.Unauthenticated });
    await clock.advance(1);
    await ended;
    expect(await failureOf(client.read({}))).toMatchObject({ reason: "SIGN_IN_REFUSED" });
  });

  it("that is revoked ends its streams at once and nobody else's; the next try is authorised anew", async () => {
    const refused = new Set<string>();
    await using its = await world({
      authenticate: ({ token = "" }) => {
        if (refused.has(token)) throw new ConnectError("no", Code.Unauthenticated);
        return { by: token };
      },
      handlers: { follow: endless },
    });
    const { client, server, proxy } = its;
    const ours = plainReader(proxy.origin, "ada");
    const bens = plainReader(proxy.origin, "ben");
    await Promise.all([ours.next(), bens.next()]);
    refused.add("ada");
    expect(server.server.revoke("ada")).toBe(1);
    await expect(ours.next().then(() => ours.next())).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(await failureOf(client.read({}))).toMatchObject({ code: Code.Unauthenticated });
    expect((await bens.next()).done).toBe(false);
    expect(server.server.revoke("ada")).toBe(0);
  });
});

/** A reader of bare items over HTTP/2, as every Connect client is one. */
function plainReader(origin: string, by: string): AsyncIterator<unknown> {
  const transport = createConnectTransport({
    baseUrl: origin,
    httpVersion: "2",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${by}`);
        request.header.set("holdfast-session", "laptop");
        return next(request);
      },
    ],
  });
  return createClient(TallyService, transport).follow({})[Symbol.asyncIterator]();
}

/** Two items, then none until its signal aborts. */
async function* endless(
  _: unknown,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<{ number: bigint }> {
  yield { number: 1n };
  yield { number: 2n };
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
}
