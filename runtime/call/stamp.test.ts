import { describe, expect, it } from "vitest";
import { simulatedProcess } from "../testing/simulated-process.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { Stamp } from "./stamp.ts";
import { Ticket } from "./ticket.ts";

const lane = { id: "lane", settled: 0, next: () => 1, settle: () => undefined };

function world() {
  const clock = virtualClock();
  const process = simulatedProcess(clock);
  const ticket = new Ticket(process.clock);
  const stamp = new Stamp("call", { clock: process.clock, lane, ticket, anonymous: "secret" });
  return { clock, process, ticket, send: () => stamp.fields(1, false, undefined).firstSent };
}

describe("when a call was first sent", () => {
  it("counts the time that its machine slept, which the monotonic clock does not", async () => {
    const { clock, process, send } = world();
    expect(send()).toEqual({ agoMs: 0 });
    process.sleep();
    await clock.advance(60_000);
    process.wake();
    await clock.advance(1_000);
    expect(send()).toEqual({ agoMs: 61_000 });
  });

  it("counts it too when the server's time is learned only after the sleep", async () => {
    const { clock, process, ticket, send } = world();
    const sentAtMs = clock.now();
    send();
    process.sleep();
    await clock.advance(60_000);
    process.wake();
    ticket.learn(String(clock.now()));
    expect(send()).toEqual({ serverMs: sentAtMs });
  });

  it("counts by the monotonic clock when the wall clock is set back", async () => {
    const { clock, process, send } = world();
    send();
    await clock.advance(5_000);
    process.jumpWall(-3_600_000);
    expect(send()).toEqual({ agoMs: 5_000 });
  });
});
