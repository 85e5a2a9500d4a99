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
  return { clock, process, ticket, send: () => stamp.fields(false, undefined).firstSent };
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

  it("counts by the monotonic clock when the wall clock is set back a little", async () => {
    const { clock, process, send } = world();
    send();
    await clock.advance(5_000);
    process.jumpWall(-2_000);
    expect(send()).toEqual({ agoMs: 5_000 });
  });

  it("is as long ago as can be when the wall clock was set back, since the machine may have slept", async () => {
    const { clock, process, ticket, send } = world();
    send();
    process.sleep();
    await clock.advance(60_000);
    process.wake();
    process.jumpWall(-3_600_000);
    expect(send()).toEqual({ agoMs: process.clock.now() });
    ticket.learn(String(clock.now()));
    process.jumpWall(3_600_000);
    expect(send()).toEqual({ agoMs: process.clock.now() });
  });

  it("stays what it was where the server's time was known before the wall clock was set back", async () => {
    const { clock, process, ticket, send } = world();
    ticket.learn(String(clock.now()));
    const sentAtMs = clock.now();
    send();
    process.jumpWall(-3_600_000);
    expect(send()).toEqual({ serverMs: sentAtMs });
  });

  it("is as long ago as can be for a later process whose wall clock is behind", async () => {
    const { clock, process, ticket } = world();
    const firstSent = { wallMs: clock.now() + 1, serverMs: undefined };
    const memory = {
      callId: "call",
      lane: "lane",
      seq: 1,
      anonymous: "secret",
      tag: undefined,
      tries: 0,
      firstSent,
    };
    const stamp = Stamp.resume(memory, { clock: process.clock, ticket });
    expect(stamp.fields(false, undefined)).toMatchObject({ tries: 2, firstSent: { agoMs: clock.now() } });
    expect(stamp.memory().firstSent).toEqual({ wallMs: 0, serverMs: undefined });
  });
});

describe("in whose name a call was first sent", () => {
  it("stays said to a later process where another person has signed in since", () => {
    const { process, ticket } = world();
    const signIn = { person: 0 };
    const options = { clock: process.clock, ticket, signIn };
    const stamp = new Stamp("call", { ...options, lane, anonymous: "secret" });
    stamp.sending("epoch.ada");
    stamp.fields(false, undefined);
    expect(stamp.fields(false, undefined).expectedCaller).toBe("epoch.ada");
    signIn.person = 2;
    expect(stamp.fields(false, undefined).expectedCaller).toBe("epoch.ada!");
    const later = Stamp.resume(stamp.memory(), { ...options, signIn: { person: 0 } });
    expect(later.fields(false, undefined).expectedCaller).toBe("epoch.ada!");
    expect(Stamp.resume(later.memory(), { ...options, signIn }).fields(false, undefined).expectedCaller).toBe(
      "epoch.ada!",
    );
  });

  it("stays unknown to a later process where no answer has said it before another person signed in", () => {
    const { process, ticket } = world();
    const signIn = { person: 0 };
    const options = { clock: process.clock, ticket, signIn };
    const stamp = new Stamp("call", { ...options, lane, anonymous: "secret" });
    stamp.sending(undefined);
    expect(Stamp.resume(stamp.memory(), options).ownerless).toBe(false);
    signIn.person = 2;
    expect(stamp.ownerless).toBe(true);
    const later = Stamp.resume(stamp.memory(), { ...options, signIn: { person: 0 } });
    expect(later.ownerless).toBe(true);
    expect(Stamp.resume(later.memory(), options).ownerless).toBe(true);
  });
});
