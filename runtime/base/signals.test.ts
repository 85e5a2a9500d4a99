import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onAbort, untilAborted, WaitsUntilAbort } from "./signals.ts";

it("all that wait for a signal share one listener, which goes with the last of them", () => {
  const { signal } = new AbortController();
  const forget = Array.from({ length: 20 }, () => onAbort(signal, () => expect.unreachable()));
  expect(getEventListeners(signal, "abort").length).toBe(1);
  for (const fn of forget) fn();
  expect(getEventListeners(signal, "abort").length).toBe(0);
});

it("an abort calls each once with its reason, but not one that another has made forgotten", () => {
  const controller = new AbortController();
  const seen: unknown[] = [];
  let forget: () => void = () => undefined;
  onAbort(controller.signal, (reason) => {
    seen.push(reason);
    forget();
  });
  forget = onAbort(controller.signal, () => expect.unreachable());
  controller.abort("why");
  onAbort(controller.signal, (reason) => seen.push(reason));
  expect(seen).toEqual(["why", "why"]);
});

it("a promise that loses against the signal is not left unhandled, and leaves no listener", async () => {
  const controller = new AbortController();
  const never = untilAborted(new Promise(() => undefined), controller.signal);
  controller.abort("why");
  await expect(never).rejects.toBe("why");
  await expect(untilAborted(Promise.reject(new Error("late")), controller.signal)).rejects.toBe("why");
  const { signal } = new AbortController();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  expect(getEventListeners(signal, "abort").length).toBe(0);
});

it("waits for one promise after the other with one listener, and for none once the signal has aborted", async () => {
  const controller = new AbortController();
  const listeners = getEventListeners(controller.signal, "abort").length;
  const waits = new WaitsUntilAbort(controller.signal);
  expect(await waits.of(Promise.resolve(1))).toBe(1);
  await expect(waits.of(Promise.reject(new Error("its own")))).rejects.toThrow("its own");
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(listeners + 1);
  const never = waits.of(new Promise(() => undefined));
  controller.abort("why");
  await expect(never).rejects.toBe("why");
  await expect(waits.of(new Promise(() => undefined))).rejects.toBe("why");
});

it("leaves nothing on the signal when its waits are over", () => {
  const { signal } = new AbortController();
  new WaitsUntilAbort(signal).forget();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
