/** What waits in an outbox while another person signs in on its link. */
import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { headerNames } from "../../runtime/call/headers.ts";
import { positionOf } from "../support/call-world.ts";
import { fault, type Step } from "../support/scripted-http.ts";
import { late, outboxWorld } from "./outbox-world.ts";

it("an entry that may have been sent, and whose caller nobody has named, is not sent under another sign-in", async () => {
  let who = "anna";
  await using world = outboxWorld();
  world.http.otherwise = () => fault("cut");
  const link = world.process({ token: () => who });
  const ended: unknown[] = [];
  link.outbox.onSettled((settlement) => ended.push(settlement));
  const error = await world.failure(link.call(late, {}));
  expect(error.outcome).toBe("in-outbox");
  const before = world.http.requests.length;
  who = "ben";
  link.signIn();
  world.http.otherwise = () => world.answers.ok();
  await world.clock.advance(60_000);
  expect(world.http.requests.slice(before).map(({ header }) => header.get("authorization"))).not.toContain(
    "Bearer ben",
  );
  expect(ended).toMatchObject([
    { callId: error.callId, kind: "failure", outcome: "unknown", error: { reason: "CALLER_CHANGED" } },
  ]);
  expect(await world.settled(world.store.list())).toEqual([]);
});

it("what was sent before another person signed in is not sent in that one's name by a later process either", async () => {
  let who = "anna";
  await using world = outboxWorld();
  const anna = world.process({ token: () => who });
  // The first command never gets an answer, so that nobody names its caller; the second one does.
  world.http.otherwise = (seen) =>
    positionOf(seen).seq === 1
      ? fault("cut")
      : world.answers.error(Code.Unavailable, { header: { [headerNames.caller]: "tag-of-anna" } });
  const nameless = anna.call(late, {}, { timeoutMs: 8_000 });
  const named = anna.call(late, {}, { timeoutMs: 2_000 });
  expect(await world.failure(named)).toMatchObject({ outcome: "in-outbox" });
  const { callId, outcome } = await world.failure(nameless);
  expect(outcome).toBe("in-outbox");
  const ended: unknown[] = [];
  anna.outbox.onSettled((settlement) => ended.push(settlement));
  // The second one is being sent; from now on it waits for its own caller, and all others with it.
  const changed = (): Step => world.answers.reason("CALLER_CHANGED", { mark: "unknown" });
  world.http.otherwise = changed;
  who = "ben";
  anna.signIn();
  await world.clock.advance(20_000);
  await world.settled(anna.close());
  const before = world.http.requests.length;
  world.http.otherwise = ({ header }) =>
    header.get(headerNames.for) === null ? world.answers.ok() : changed();
  const ben = world.process({ token: () => who });
  ben.outbox.onSettled((settlement) => ended.push(settlement));
  await world.settled(ben.outbox.send());
  expect(
    world.http.requests.slice(before).filter(({ header }) => header.get(headerNames.for) === null),
  ).toEqual([]);
  expect(ended).toMatchObject([{ callId, outcome: "unknown" }]);
});

it("an entry of which only its sign-in was refused is sent under the next one", async () => {
  let token = "old";
  await using world = outboxWorld();
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  const link = world.process({ token: () => token });
  const ended: string[] = [];
  link.outbox.onSettled(({ kind }) => ended.push(kind));
  expect(await world.failure(link.call(late, {}))).toMatchObject({ outcome: "in-outbox" });
  world.http.probe = () => world.answers.ok();
  world.http.otherwise = ({ header }) =>
    header.get("authorization") === "Bearer new"
      ? world.answers.ok()
      : world.answers.error(Code.Unauthenticated, { mark: "none" });
  await world.clock.advance(60_000);
  expect(world.http.requests.at(-1)?.header.get("authorization")).toBe("Bearer old");
  expect(ended).toEqual([]);
  token = "new";
  link.signIn();
  await world.clock.advance(60_000);
  expect(ended).toEqual(["reply"]);
});

/** A link whose tokens count for 5 s of the server's time, with a command that waits. */
async function withShortTokens(world: ReturnType<typeof outboxWorld>, refuseAll: () => boolean) {
  const { clock } = world;
  let asked = 0;
  const link = world.process({
    token: () => {
      asked += 1;
      return `token-${clock.monotonic()}`;
    },
  });
  const ended: string[] = [];
  link.outbox.onSettled(({ kind }) => ended.push(kind));
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  expect(await world.failure(link.call(late, {}))).toMatchObject({ outcome: "in-outbox" });
  world.http.probe = () => world.answers.ok();
  world.http.otherwise = ({ header }) => {
    const madeAt = Number(header.get("authorization")?.slice("Bearer token-".length));
    return refuseAll() || clock.monotonic() - madeAt > 5_000
      ? world.answers.error(Code.Unauthenticated, { mark: "none" })
      : world.answers.error(Code.Unavailable);
  };
  return { link, ended, asked: () => asked };
}

it("an entry whose token runs out twice in one sending is sent with the next token by itself", async () => {
  await using world = outboxWorld();
  const { ended } = await withShortTokens(world, () => false);
  // Each sending lasts so long that two tokens run out in it.
  await world.clock.advance(45_000);
  expect(ended).toEqual([]);
  const { otherwise } = world.http;
  world.http.otherwise = (seen) => {
    const step = otherwise(seen);
    const refused = step.kind === "answer" && step.response.status === 401;
    return refused ? step : world.answers.ok();
  };
  await world.clock.advance(60_000);
  expect(ended).toEqual(["reply"]);
});

it("a command whose call saw two tokens run out is sent with the next one by itself", async () => {
  await using world = outboxWorld();
  let asked = 0;
  const link = world.process({
    token: () => {
      asked += 1;
      return `token-${asked}`;
    },
  });
  const ended: string[] = [];
  link.outbox.onSettled(({ kind }) => ended.push(kind));
  const refused = (): Step => world.answers.error(Code.Unauthenticated, { mark: "none" });
  const steps = [fault("cut", true), refused(), refused()];
  world.http.otherwise = () => steps.shift() ?? world.answers.ok();
  expect(await world.failure(link.call(late, {}))).toMatchObject({ outcome: "in-outbox" });
  await world.clock.advance(60_000);
  expect(ended).toEqual(["reply"]);
});

it("an entry that no token lets in is sent more and more seldom", async () => {
  await using world = outboxWorld();
  const { ended, asked } = await withShortTokens(world, () => true);
  await world.clock.advance(600_000);
  const before = { sent: world.http.requests.length, asked: asked() };
  await world.clock.advance(600_000);
  // Two tries of a sending each half a minute at most, with a token each.
  expect(world.http.requests.length - before.sent).toBeLessThanOrEqual(60);
  expect(asked() - before.asked).toBeLessThanOrEqual(60);
  expect(ended).toEqual([]);
});

it("a token source that has no other token than the refused one is asked once", async () => {
  await using world = outboxWorld();
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  let asked = 0;
  const link = world.process({
    token: () => {
      asked += 1;
      return "one";
    },
  });
  await world.failure(link.call(late, {}));
  world.http.probe = () => world.answers.ok();
  world.http.otherwise = () => world.answers.error(Code.Unauthenticated, { mark: "none" });
  await world.clock.advance(60_000);
  const before = asked;
  await world.clock.advance(600_000);
  expect(asked).toBe(before);
});

it("what another process has sent of one's own keeps its first sending and its caller", async () => {
  await using world = outboxWorld();
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  const maker = world.process({ token: () => "anna", outbox: { atStart: false } });
  await world.failure(maker.call(late, {}));
  world.http.probe = () => world.answers.ok();
  world.http.otherwise = () =>
    world.answers.error(Code.Unavailable, { header: { [headerNames.caller]: "tag-of-anna" } });
  const other = world.process({ token: () => "anna" });
  await world.clock.advance(120_000);
  await world.settled(other.close());
  const before = world.http.requests.length;
  world.http.otherwise = () => world.answers.ok();
  await world.settled(maker.outbox.send());
  const [theirs, mine] = world.http.requests.slice(before - 1);
  expect(mine?.header.get(headerNames.for)).toBe("tag-of-anna");
  expect(positionOf(mine).firstSent).toEqual(positionOf(theirs).firstSent);
});
