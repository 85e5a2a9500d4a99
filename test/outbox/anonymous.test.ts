/**
 * Entries of one anonymous link that another one sends: the server names their callers apart, and so must the
 * link that sends both, or it would tell the server of a change of caller where there is none.
 */
import { expect, it } from "vitest";
import { headerNames } from "../../runtime/call/headers.ts";
import type { Link } from "../../runtime/link/link.ts";
import { fault } from "../support/scripted-http.ts";
import { late, none, outboxWorld } from "./outbox-world.ts";

/** A server that names each caller by what it sent, as a real one does by a digest of it. */
function naming(world: ReturnType<typeof outboxWorld>): void {
  world.http.otherwise = ({ header }) =>
    world.answers.ok({}, { [headerNames.caller]: `e.${header.get(headerNames.anon) ?? ""}` });
  world.http.probe = () => world.answers.ok();
}

/** A command that an earlier process leaves, of which nothing has been sent. */
async function leaveOne(world: ReturnType<typeof outboxWorld>): Promise<void> {
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  const link = world.process({ outbox: { atStart: false } });
  await world.failure(link.call(late, {}));
  await world.settled(link.close());
}

/** Two calls, each of which comes through at its second try; at the second call the link knows its own tag. */
async function callsCutOnce(world: ReturnType<typeof outboxWorld>, link: Link): Promise<void> {
  for (let count = 0; count < 2; count += 1) {
    world.http.next(fault("cut", true));
    await world.settled(link.call(none, {}));
  }
}

function tagsAreTheirOwn(world: ReturnType<typeof outboxWorld>): void {
  const sent = world.http.requests.map(({ header }) => header);
  const named = sent.filter((header) => header.has(headerNames.for));
  expect(named.length).toBeGreaterThan(0);
  for (const header of named) {
    expect(header.get(headerNames.for)).toBe(`e.${header.get(headerNames.anon) ?? ""}`);
  }
}

it("a command is not sent with the tag of an entry that the same link has sent", async () => {
  await using world = outboxWorld();
  await leaveOne(world);
  naming(world);
  const link = world.process({ outbox: { atStart: false } });
  await world.settled(link.outbox.send());
  await callsCutOnce(world, link);
  tagsAreTheirOwn(world);
});

it("an entry of another link is no sign of life of the session of the link that sends it", async () => {
  await using world = outboxWorld();
  await leaveOne(world);
  naming(world);
  const link = world.process({ outbox: { atStart: false } });
  await world.settled(link.call(none, {}));
  const [theirs, ours] = world.http.requests.slice(-2).map(({ header }) => header);
  expect(theirs?.has(headerNames.session)).toBe(false);
  expect(ours?.has(headerNames.session)).toBe(true);
  expect(theirs?.get(headerNames.anon)).not.toBe(ours?.get(headerNames.anon));
});

it("an entry is not sent with the tag of the link that sends it", async () => {
  await using world = outboxWorld();
  naming(world);
  const link = world.process({ outbox: { atStart: false } });
  await world.settled(link.call(none, {}));
  await leaveOne(world);
  naming(world);
  world.http.next(fault("cut", true));
  await world.settled(link.outbox.send());
  await world.settled(link.outbox.send());
  await callsCutOnce(world, link);
  expect(await link.outbox.list()).toEqual([]);
  tagsAreTheirOwn(world);
});
