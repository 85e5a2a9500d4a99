import { expect, it } from "vitest";
import { virtualClock } from "../testing/virtual-clock.ts";
import { sleepWatch } from "./wake.ts";

it("tells a sleep by a late timer, and by a wall clock that ran on alone", async () => {
  const clock = virtualClock();
  let woken = 0;
  const forget = sleepWatch(clock)(() => {
    woken += 1;
  });
  await clock.advance(60_000);
  expect(woken).toBe(0);
  await clock.sleepLaptop(7_200_000);
  expect(woken).toBe(1);
  // Where monotonic time stands still in a sleep, the wall clock alone tells.
  clock.jumpWall(600_000);
  await clock.advance(5_000);
  expect(woken).toBe(2);
  await clock.advance(60_000);
  expect(woken).toBe(2);
  forget();
  expect(clock.pendingCount).toBe(0);
});

it("has one timer for all listeners, and none without them", async () => {
  const clock = virtualClock();
  const onWake = sleepWatch(clock);
  const told: string[] = [];
  const forgetA = onWake(() => told.push("a"));
  const forgetB = onWake(() => told.push("b"));
  expect(clock.pendingCount).toBe(1);
  forgetA();
  await clock.sleepLaptop(60_000);
  expect(told).toEqual(["b"]);
  forgetB();
  expect(clock.pendingCount).toBe(0);
});
