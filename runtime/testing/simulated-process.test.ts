import { expect, it } from "vitest";
import { simulatedProcess } from "./simulated-process.ts";
import { virtualClock } from "./virtual-clock.ts";

it("who asks a dead process for its death hears of it at once", () => {
  const process = simulatedProcess(virtualClock());
  const heard: string[] = [];
  process.onDeath(() => heard.push("before"));
  process.kill();
  process.kill();
  process.onDeath(() => heard.push("after"));
  expect(heard).toEqual(["before", "after"]);
});

it("a machine that slept has its timers as long to go as before, in their order, and only its wall clock went on", async () => {
  const clock = virtualClock(0);
  const process = simulatedProcess(clock);
  const fired: string[] = [];
  process.clock.timer(30, () => fired.push("c"));
  process.clock.timer(20, () => fired.push("a"));
  process.clock.timer(20, () => fired.push("b"));
  const cancelled = process.clock.timer(20, () => fired.push("never"));
  await clock.advance(10);
  process.sleep();
  process.run(() => fired.push("a packet"));
  cancelled.cancel();
  await clock.advance(1_000);
  expect(fired).toEqual([]);
  expect(process.clock.monotonic()).toBe(10);
  expect(process.clock.now()).toBe(1_010);
  process.wake();
  expect(fired).toEqual(["a packet"]);
  await clock.advance(9);
  expect(fired).toEqual(["a packet"]);
  await clock.advance(1);
  expect(fired).toEqual(["a packet", "a", "b"]);
  await clock.advance(10);
  expect(fired).toEqual(["a packet", "a", "b", "c"]);
  expect(process.clock.monotonic()).toBe(30);
});

it("a machine that sleeps while its process is stopped goes on when both are over", async () => {
  const clock = virtualClock();
  const process = simulatedProcess(clock);
  const heard: string[] = [];
  process.pause();
  process.sleep();
  process.run(() => heard.push("a packet"));
  process.resume();
  expect(heard).toEqual([]);
  process.wake();
  expect(heard).toEqual(["a packet"]);
});
