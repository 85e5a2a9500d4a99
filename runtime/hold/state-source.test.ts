import { expect, it } from "vitest";
import { foreignTimeoutMsMost } from "../base/constants.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { StateSource } from "./state-source.ts";

const loading = { kind: "loading" } as const;
const live = { kind: "live" } as const;

it("a loop that waits for its next change keeps the program alive, and no other does", async () => {
  const clock = virtualClock();
  const source = new StateSource(loading, () => clock.timer(foreignTimeoutMsMost, () => undefined));
  source.subscribe(() => undefined);
  const loop = source[Symbol.asyncIterator]();
  expect(clock.pendingCount).toBe(0);
  expect(await loop.next()).toEqual({ done: false, value: loading });
  expect(clock.pendingCount).toBe(0);
  const next = loop.next();
  expect(clock.pendingCount).toBe(1);
  source.set(live);
  expect(await next).toEqual({ done: false, value: live });
  expect(clock.pendingCount).toBe(0);
});

it("the end of the loop or of the reference lets the program end", async () => {
  const clock = virtualClock();
  const source = new StateSource(loading, () => clock.timer(foreignTimeoutMsMost, () => undefined));
  const loops = [source[Symbol.asyncIterator](), source[Symbol.asyncIterator]()] as const;
  for (const loop of loops) await loop.next();
  const waiting = loops.map((loop) => loop.next());
  expect(clock.pendingCount).toBe(2);
  await loops[0].return?.();
  source.close({ dropWaiting: true });
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ done: true, value: undefined })));
  expect(clock.pendingCount).toBe(0);
});
