import { expect, it } from "vitest";
import { onWake } from "./wake.ts";

it("tells of going online, of a page shown again or thawed, and of nothing after it is stopped", () => {
  const document = Object.assign(new EventTarget(), { visibilityState: "hidden" });
  const target = Object.assign(new EventTarget(), { document });
  let count = 0;
  const stop = onWake(() => count++, target);
  target.dispatchEvent(new Event("online"));
  target.dispatchEvent(new Event("pageshow"));
  expect(count).toBe(2);
  document.dispatchEvent(new Event("visibilitychange"));
  expect(count).toBe(2); // hidden
  document.visibilityState = "visible";
  document.dispatchEvent(new Event("visibilitychange"));
  document.dispatchEvent(new Event("resume"));
  expect(count).toBe(4);
  stop();
  target.dispatchEvent(new Event("online"));
  document.dispatchEvent(new Event("visibilitychange"));
  expect(count).toBe(4);
});

it("does nothing where nothing tells of it", () => {
  const stop = onWake(() => expect.unreachable(), {});
  stop();
  onWake(() => expect.unreachable())();
});
