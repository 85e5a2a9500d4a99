import { expect, test } from "vitest";
import { AdmissionState } from "./admission-state.ts";

const limits = { runningPerCallerMost: 2, waitingPerCallerMost: 3, runningMost: 3, waitingMost: 4 };

function state(): AdmissionState<string> {
  return new AdmissionState(limits);
}

test("a caller runs up to its limit, waits up to its limit, and is then sent away", () => {
  const admission = state();
  expect([1, 2, 3, 4, 5, 6].map((at) => admission.enter("ada", `a${at}`))).toEqual([
    "run",
    "run",
    "wait",
    "wait",
    "wait",
    "shed",
  ]);
  expect([admission.runningCount, admission.waitingCount]).toEqual([2, 3]);
});

test("a caller at its limit leaves room for the others", () => {
  const admission = state();
  for (let at = 0; at < 6; at += 1) admission.enter("ada", `a${at}`);
  expect(admission.enter("bob", "b1")).toBe("run");
});

test("all callers together wait up to one limit", () => {
  const admission = state();
  for (let at = 0; at < 5; at += 1) admission.enter("ada", `a${at}`);
  admission.enter("bob", "b1");
  expect(admission.enter("bob", "b2")).toBe("wait");
  expect(admission.enter("bob", "b3")).toBe("shed");
});

test("callers that wait take turns, each in its own order", () => {
  const admission = new AdmissionState<string>({ ...limits, runningMost: 1, waitingMost: 10 });
  admission.enter("ada", "a1");
  for (const request of ["a2", "a3"]) admission.enter("ada", request);
  for (const request of ["b1", "b2"]) admission.enter("bob", request);
  const order: string[] = [];
  for (let running = "ada"; ; ) {
    const [next] = admission.leave(running);
    if (next === undefined) break;
    order.push(next);
    running = next.startsWith("a") ? "ada" : "bob";
  }
  expect(order).toEqual(["a2", "b1", "a3", "b2"]);
  expect([admission.runningCount, admission.waitingCount]).toEqual([0, 0]);
});

test("one that gives up is not started, and its place is free", () => {
  const admission = state();
  for (let at = 1; at <= 5; at += 1) admission.enter("ada", `a${at}`);
  admission.drop("ada", "a3");
  admission.drop("ada", "a3");
  expect(admission.enter("ada", "a6")).toBe("wait");
  expect(admission.leave("ada")).toEqual(["a4"]);
});

test("a leave too many changes nothing", () => {
  const admission = state();
  admission.enter("ada", "a1");
  admission.leave("ada");
  expect(admission.leave("ada")).toEqual([]);
  expect(admission.runningCount).toBe(0);
});
