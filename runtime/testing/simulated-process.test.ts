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
