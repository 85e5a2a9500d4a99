import { describe, expect, it } from "vitest";
import type { Clock, Timer } from "../base/clock.ts";
import { type VirtualClock, virtualClock } from "../testing/virtual-clock.ts";
import { IdleWatch } from "./idle-watch.ts";

function watchOn(clock: Clock, probe?: () => Promise<boolean>) {
  const dead: string[] = [];
  let probes = 0;
  const watch = new IdleWatch({
    clock,
    idleMs: 45_000,
    probe:
      probe &&
      (() => {
        probes += 1;
        return probe();
      }),
    onDead: (why) => dead.push(why),
  });
  return { watch, dead, probes: () => probes };
}

/** As in a page in the background: timers fire once a minute. */
function throttled(clock: VirtualClock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    timer(delayMs: number, fn: () => void): Timer {
      const at = clock.monotonic() + delayMs;
      const late = Math.ceil(at / 60_000) * 60_000 - clock.monotonic();
      return clock.timer(delayMs === 0 ? 0 : late, fn);
    },
  };
}

describe("the idle watch", () => {
  it("calls a connection dead after 45 s without a byte, and not a moment before", async () => {
    const clock = virtualClock();
    const { watch, dead } = watchOn(clock);
    watch.start();
    await clock.advance(20_000);
    watch.note(clock.monotonic());
    await clock.advance(44_999);
    expect(dead).toEqual([]);
    await clock.advance(1);
    expect(dead).toEqual(["idle"]);
    expect(clock.pendingCount).toBe(0);
  });

  it("is fed by bytes, however late its own timers are", async () => {
    const clock = virtualClock();
    const { watch, dead, probes } = watchOn(throttled(clock), async () => false);
    watch.start();
    for (let at = 0; at < 600_000; at += 15_000) {
      await clock.advance(15_000);
      watch.note(clock.monotonic());
    }
    expect([dead, probes()]).toEqual([[], 0]);
    watch.stop();
    expect(clock.pendingCount).toBe(0);
  });

  it("reads what has arrived before it judges a tick that came late", async () => {
    const clock = virtualClock();
    const { watch, dead, probes } = watchOn(clock, async () => false);
    watch.start();
    await clock.advance(10_000);
    // The bytes that came in the sleep are read in the same turn as the late timer.
    clock.timer(4_000, () => clock.timer(0, () => watch.note(clock.monotonic())));
    await clock.sleepLaptop(7_200_000);
    expect([dead, probes()]).toEqual([[], 0]);
    watch.stop();
  });

  it("lets one probe decide after a sleep", async () => {
    const clock = virtualClock();
    const asleep = watchOn(clock, async () => false);
    asleep.watch.start();
    await clock.sleepLaptop(7_200_000);
    await clock.advance();
    expect([asleep.dead, asleep.probes()]).toEqual([["silent"], 1]);
    const awake = watchOn(clock, async () => true);
    awake.watch.start();
    await clock.sleepLaptop(7_200_000);
    await clock.advance();
    expect([awake.dead, awake.probes()]).toEqual([[], 1]);
    // The server is there, but not on this connection: its next sign would have come.
    await clock.advance(22_500);
    expect(awake.dead).toEqual(["idle"]);
  });

  it("a byte that comes while it asks is as good as the answer", async () => {
    const clock = virtualClock();
    const { watch, dead } = watchOn(clock, async () => {
      await clock.settle();
      watch.note(clock.monotonic());
      return false;
    });
    watch.start();
    await clock.advance(1_000);
    watch.ask();
    await clock.advance(10);
    await clock.settle();
    watch.stop();
    expect(dead).toEqual([]);
  });

  it("counts nothing while nobody reads", async () => {
    const clock = virtualClock();
    const { watch, dead } = watchOn(clock);
    watch.start();
    watch.stop();
    await clock.advance(600_000);
    expect(dead).toEqual([]);
    watch.start();
    await clock.advance(44_999);
    expect(dead).toEqual([]);
    watch.stop();
    expect(clock.pendingCount).toBe(0);
  });
});
