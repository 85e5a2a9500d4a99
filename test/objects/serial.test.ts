/**
 * The commands of one reference to a serial object take effect in the order in which they were called: each starts when
 * the one before it is settled, and one that failed for now is not.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { state } from "../../runtime/delta/state.ts";
import { Serial } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { SerialLogSchema } from "./gen/test/objects/v1/notebook_pb.ts";
import { kept, outcomeOf } from "./suite.ts";
import { type LinkedWorld, serverWorlds } from "./world.ts";

/** A serial object whose handlers fail as often as the test says: for now, in the server's eyes. */
function failingSerial(world: Pick<LinkedWorld, "provider">): {
  readonly began: string[];
  readonly lines: () => readonly string[];
  readonly failures: Map<string, number>;
} {
  const log = state(SerialLogSchema);
  const began: string[] = [];
  const failures = new Map<string, number>();
  world.provider.serve(
    Serial,
    () => ({
      log,
      append({ line }) {
        began.push(line);
        const left = failures.get(line) ?? 0;
        failures.set(line, left - 1);
        if (left > 0) throw new ConnectError("the disk is busy", Code.Unavailable);
        log.update((draft) => draft.lines.push(line));
        return { count: log.value.lines.length };
      },
    }),
    { lingerMs: 60_000 },
  );
  return { began, lines: () => log.value.lines, failures };
}

it.each(serverWorlds)(
  "in $name: what was sent behind a command that failed for now waits until that has run",
  async ({ create }) => {
    await using world = await create();
    const object = failingSerial(world);
    object.failures.set("b", 2);
    const serial = await world.client.get(Serial, { name: "a" });
    const calls = ["a", "b", "c", "d"].map((line) => kept(serial.append({ line })));
    await world.settle();
    expect(object.began).toEqual(["a", "b"]);
    // What is called meanwhile goes behind it too.
    calls.push(kept(serial.append({ line: "e" })));
    await world.clock.advance(10_000);
    expect(object.lines()).toEqual(["a", "b", "c", "d", "e"]);
    expect(object.began).toEqual(["a", "b", "b", "b", "c", "d", "e"]);
    expect(await outcomeOf(world, Promise.all(calls))).toMatchObject(
      [1, 2, 3, 4, 5].map((count) => ({ count })),
    );
  },
);

it.each(serverWorlds)(
  "in $name: one that its program gives up lets those behind it go on, in their order",
  async ({ create }) => {
    await using world = await create();
    const object = failingSerial(world);
    object.failures.set("a", 1_000);
    const serial = await world.client.get(Serial, { name: "a" });
    const stop = new AbortController();
    const given = kept(serial.append({ line: "a" }, { signal: stop.signal }));
    const calls = ["b", "c"].map((line) => kept(serial.append({ line })));
    await world.settle();
    calls.push(kept(serial.append({ line: "d" })));
    stop.abort();
    expect(await outcomeOf(world, given)).toMatchObject({ reason: "ABORTED", outcome: "unknown" });
    await world.clock.advance(20_000);
    expect(object.lines()).toEqual(["b", "c", "d"]);
    expect(await outcomeOf(world, Promise.all(calls))).toMatchObject([1, 2, 3].map((count) => ({ count })));
    // And nothing is left that waits.
    expect(await serial.append({ line: "e" })).toMatchObject({ count: 4 });
  },
);

it.each(serverWorlds)("in $name: a drop while it waits changes nothing of the order", async ({ create }) => {
  await using world = await create();
  const object = failingSerial(world);
  object.failures.set("b", 1);
  const serial = await world.client.get(Serial, { name: "a" });
  const calls = ["a", "b", "c"].map((line) => kept(serial.append({ line })));
  await world.settle();
  calls.push(kept(serial.append({ line: "d" })));
  await world.link.drop();
  calls.push(kept(serial.append({ line: "e" })));
  await world.link.connect();
  await world.clock.advance(10_000);
  expect(object.lines()).toEqual(["a", "b", "c", "d", "e"]);
  expect(await outcomeOf(world, Promise.all(calls))).toMatchObject(
    [1, 2, 3, 4, 5].map((count) => ({ count })),
  );
});
