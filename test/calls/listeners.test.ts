import { expect, it } from "vitest";
import { callWorld } from "../support/call-world.ts";
import { hang } from "../support/scripted-http.ts";

it("makes Node warn of no leak with many calls on one link and one signal", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on("warning", note);
  try {
    await using world = callWorld();
    world.http.otherwise = () => hang();
    const { signal } = new AbortController();
    const calls = Array.from({ length: 50 }, () => world.client.read({}, { signal, timeoutMs: 100 }));
    await world.settled(Promise.allSettled(calls));
    // A warning is told in the next turn.
    await world.clock.settle();
  } finally {
    process.off("warning", note);
  }
  expect(warnings).toEqual([]);
});
