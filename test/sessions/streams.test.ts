/** What the end of a sign-in or of a session means to a stream that resumes, over real sockets. */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import type { StreamContext } from "../../runtime/base/handlers.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { Authenticate, ServerOptions } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { socketWorld, type SocketWorld } from "../support/socket-world.ts";

interface Followed {
  readonly world: SocketWorld;
  readonly clock: ReturnType<typeof virtualClock>;
  readonly got: bigint[];
  /** What the reader's loop ended with. */
  readonly ended: Promise<unknown>;
  /** Publishes the next number, and waits until the reader has it. */
  publish(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A reader of a topic on a server whose clock is ours. */
async function followed(
  authenticate: Authenticate,
  token: () => string,
  options: ServerOptions = {},
): Promise<Followed> {
  const clock = virtualClock(Date.now());
  const topic = { of: (): ReturnType<SocketWorld["server"]["server"]["topic"]> => expect.unreachable() };
  const handlers = { follow: (_: unknown, context: StreamContext) => context.follow(topic.of()) as never };
  const world = await socketWorld(
    { session: "laptop", token, account: "ada" },
    { ...options, clock, authenticate, handlers },
  );
  const named = world.server.server.topic(Tally.follow, "all");
  topic.of = () => named as never;
  const got: bigint[] = [];
  const stream = world.client.follow({});
  const ended = (async () => {
    for await (const { number } of stream) got.push(number);
  })().catch((error: unknown) => error);
  await vi.waitFor(() => expect(stream.state.value.kind).toBe("open"), { timeout: 10_000 });
  return {
    world,
    clock,
    got,
    ended,
    async publish() {
      const number = BigInt(named.publish({ number: BigInt(got.length + 1) }));
      await vi.waitFor(() => expect(got.at(-1)).toBe(number), { timeout: 10_000 });
    },
    async [Symbol.asyncDispose]() {
      await stream.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

const states = ({ world }: Followed): readonly string[] => world.states.map(({ kind }) => kind);

it("a stream goes on with a new token each time its sign-in ends, and nobody sees it", async () => {
  let asked = 0;
  const seen: string[] = [];
  const clockOf: { now: () => number } = { now: () => Date.now() };
  await using reader = await followed(
    ({ token = "" }) => {
      seen.push(token);
      return { by: "ada", until: clockOf.now() + 60_000 };
    },
    () => `token-${(asked += 1)}`,
  );
  clockOf.now = () => reader.clock.now();
  for (let time = 0; time < 3; time += 1) {
    await reader.publish();
    const authorised = seen.length;
    await reader.clock.advance(61_000);
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(authorised), { timeout: 10_000 });
  }
  await reader.publish();
  expect(reader.got).toEqual([1n, 2n, 3n, 4n]);
  expect(new Set(seen).size).toBe(seen.length);
  expect(states(reader)).toEqual(["idle", "up"]);
});

it("a revoked caller's stream ends at once, and goes on when its next try is let in", async () => {
  await using reader = await followed(
    () => ({ by: "ada" }),
    () => "t",
  );
  await reader.publish();
  expect(reader.world.server.server.revoke("ada")).toBe(1);
  await reader.publish();
  expect(reader.got).toEqual([1n, 2n]);
});

it("a revoked caller that is let in no more has its stream refused, after one new token, and its link not", async () => {
  let refused = false;
  let asked = 0;
  await using reader = await followed(
    () => {
      if (refused) throw new ConnectError("no", Code.Unauthenticated);
      return { by: "ada" };
    },
    () => `t${(asked += 1)}`,
  );
  await reader.publish();
  refused = true;
  reader.world.server.server.revoke("ada");
  expect(await reader.ended).toMatchObject({ code: Code.Unauthenticated, reason: "SIGN_IN_REFUSED" });
  expect(asked).toBeLessThanOrEqual(3);
  expect(states(reader)).not.toContain("refused");
});

it("a stream of a session that is gone comes back, and is no sign of life of it", async () => {
  const gone: string[] = [];
  await using reader = await followed(
    () => ({ by: "ada" }),
    () => "t",
    { onSessionGone: ({ name }) => void gone.push(name) },
  );
  const { server, client } = reader.world;
  await client.read({});
  await reader.publish();
  await reader.clock.advance(185_000);
  await vi.waitFor(() => expect(gone).toEqual(["laptop"]), { timeout: 10_000 });
  await reader.publish();
  expect(server.server.sessions()).toEqual([]);
  await client.read({});
  expect(server.server.sessions()).toMatchObject([{ name: "laptop", streamCount: 1 }]);
});
