import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { reasonFrom, retryDelayMs } from "../runtime/base/errors.ts";
import { seededRandom } from "../runtime/testing/seeded-random.ts";
import { virtualClock } from "../runtime/testing/virtual-clock.ts";
import { Admission, comeBack } from "./admission.ts";

const limits = { runningPerCallerMost: 1, waitingPerCallerMost: 1, runningMost: 10, waitingMost: 10 };

function open(): { admission: Admission; clock: ReturnType<typeof virtualClock> } {
  const clock = virtualClock();
  return { admission: new Admission({ limits, clock, random: seededRandom(1) }), clock };
}

const patient = { stop: new AbortController().signal, deadline: undefined };

function outcome(started: Promise<void>): Promise<ConnectError | "started"> {
  return started.then(
    () => "started" as const,
    (error: unknown) => ConnectError.from(error),
  );
}

test("a turn waits for the one before, and leaving twice frees one place", async () => {
  const { admission } = open();
  const first = admission.turn("ada", patient);
  await first.start();
  await first.start();
  const second = outcome(admission.turn("ada", patient).start());
  expect([admission.runningCount, admission.waitingCount]).toEqual([1, 1]);
  first.leave();
  first.leave();
  expect(await second).toBe("started");
  expect([admission.runningCount, admission.waitingCount]).toEqual([1, 0]);
});

test("one too many is sent away as OVERLOADED, to come back after 1 to 5 s", async () => {
  const { admission } = open();
  await admission.turn("ada", patient).start();
  void admission.turn("ada", patient).start();
  const error = await outcome(admission.turn("ada", patient).start());
  if (error === "started") return expect.fail("it started");
  expect([reasonFrom(error), error.code]).toEqual(["OVERLOADED", Code.ResourceExhausted]);
  expect(retryDelayMs(error)).toBeGreaterThanOrEqual(1_000);
  expect(retryDelayMs(error)).toBeLessThan(5_000);
  expect(Number(error.metadata.get("retry-after"))).toBeGreaterThan(0);
});

test("one whose deadline passes while it waits never starts", async () => {
  const { admission, clock } = open();
  await admission.turn("ada", patient).start();
  const late = outcome(admission.turn("ada", { ...patient, deadline: clock.monotonic() + 500 }).start());
  await clock.advance(500);
  expect(await late).toMatchObject({ code: Code.DeadlineExceeded });
  expect(admission.waitingCount).toBe(0);
});

test("one whose client is gone never starts", async () => {
  const { admission } = open();
  await admission.turn("ada", patient).start();
  const client = new AbortController();
  const gone = outcome(admission.turn("ada", { ...patient, stop: client.signal }).start());
  client.abort();
  expect(await gone).toMatchObject({ code: Code.Canceled });
  expect(await outcome(admission.turn("bob", { ...patient, stop: client.signal }).start())).toMatchObject({
    code: Code.Canceled,
  });
});

test("all that wait can be sent away, and idle comes when the last has left", async () => {
  const { admission } = open();
  const running = admission.turn("ada", patient);
  await running.start();
  const waiting = outcome(admission.turn("ada", patient).start());
  admission.refuseWaiting(() => comeBack("DRAINING", 10));
  expect(await waiting).toMatchObject({ code: Code.Unavailable });
  const idle = admission.idle();
  running.leave();
  await idle;
  await admission.idle();
});
