/**
 * A store has an entry a moment before its process hears that it is there. A look in between finds what is no entry of
 * another process, nor of an earlier one: two would send it, and its call would not know what became of it.
 */
import { expect, it } from "vitest";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import { early, outboxWorld } from "./outbox-world.ts";

it("an entry that is being written is not sent on nobody's behalf", async () => {
  const kept = memoryOutbox();
  let heard: () => void = () => undefined;
  const hearing = new Promise<void>((resolve) => {
    heard = resolve;
  });
  let putCount = 0;
  await using world = outboxWorld({
    ...kept,
    put: async (name, bytes) => {
      await kept.put(name, bytes);
      putCount += 1;
      if (putCount === 1) await hearing;
    },
  });
  const link = world.process();
  world.http.next(world.answers.ok({}));
  const reply = link.call(early, { amount: 1n });
  await world.clock.advance();
  const sent = link.outbox.send();
  await world.clock.advance(2_000);
  expect(await kept.list()).toHaveLength(1);
  expect(world.http.requests).toHaveLength(0);
  heard();
  await world.settled(reply);
  await world.settled(sent);
  expect(world.http.requests).toHaveLength(1);
  expect(await kept.list()).toHaveLength(0);
});
