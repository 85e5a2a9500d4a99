import { expect, it } from "vitest";
import type { Clock } from "../../runtime/base/clock.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { followServer } from "../support/follow-server.ts";

/** Passes a clock on, and counts the timers that keep a program alive. */
function counted(clock: Clock): { readonly clock: Clock; readonly awakeCount: () => number } {
  const awake = new Set<object>();
  const timer: Clock["timer"] = (delayMs, fn, options) => {
    const its = {};
    if (options?.background !== true) awake.add(its);
    const inner = clock.timer(delayMs, () => {
      awake.delete(its);
      fn();
    });
    return {
      cancel() {
        awake.delete(its);
        inner.cancel();
      },
    };
  };
  const passed = { now: () => clock.now(), monotonic: () => clock.monotonic(), timer };
  return { clock: passed, awakeCount: () => awake.size };
}

it("a stream keeps its program alive while the server is away, and no longer than it is read", async () => {
  const server = followServer();
  const { clock, awakeCount } = counted(server.clock);
  const link = createLinkOf(server.platform, [])("http://board.test", { clock });
  const stream = link.stream(Tally.follow, {});
  const reading = (async () => {
    for await (const item of stream) expect.unreachable(`nothing is published, and ${item.$typeName} came`);
  })();
  await server.clock.advance(1_000);
  server.meet("refuse");
  server.reach = () => Promise.reject(new Error("nobody listens"));
  server.cutAll();
  for (let second = 0; second < 60; second += 1) {
    await server.clock.advance(1_000);
    expect(awakeCount()).toBeGreaterThan(0);
  }
  await stream.close();
  await reading;
  expect(awakeCount()).toBe(0);
  await link.close();
});
