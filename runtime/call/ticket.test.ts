import { describe, expect, it } from "vitest";
import { ticketKeepMs, ticketMarginMs } from "../base/constants.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { Ticket } from "./ticket.ts";

function learned(value: string | null) {
  const clock = virtualClock();
  const ticket = new Ticket(clock);
  ticket.learn(value);
  return { clock, ticket, now: () => ticket.serverMsAt(clock.monotonic()) };
}

describe("the server's time", () => {
  it("is not known before the first answer", () => {
    const clock = virtualClock();
    expect(new Ticket(clock).serverMsAt(0)).toBeUndefined();
  });

  it("goes on as our monotonic clock does, less what two clocks may drift apart", async () => {
    const { clock, now } = learned("1000000");
    expect(now()).toBe(1_000_000);
    await clock.advance(ticketKeepMs / 2);
    expect(now()).toBe(1_000_000 + ticketKeepMs / 2 - ticketMarginMs / 2);
  });

  it("is told of an earlier instant with the drift of now", async () => {
    const { clock, ticket } = learned("1000000");
    await clock.advance(ticketKeepMs / 4);
    expect(ticket.serverMsAt(0)).toBe(1_000_000 - ticketMarginMs / 4);
  });

  it("is known to the end of its age and no longer", async () => {
    const { clock, now } = learned("1000000");
    await clock.advance(ticketKeepMs);
    expect(now()).toBe(1_000_000 + ticketKeepMs - ticketMarginMs);
    await clock.advance(1);
    expect(now()).toBeUndefined();
  });

  it("is never ahead of a server whose clock runs slower by as much as the margin allows", async () => {
    const { clock, now } = learned("0");
    const slower = 1 - ticketMarginMs / ticketKeepMs;
    for (let step = 0; step < 60; step += 1) {
      await clock.advance(ticketKeepMs / 60);
      expect(now()).toBeLessThanOrEqual(clock.monotonic() * slower + 1e-6);
    }
  });

  it("is not moved by this machine's wall clock", async () => {
    const { clock, now } = learned("5");
    clock.jumpWall(-86_400_000);
    expect(now()).toBe(5);
  });

  it("starts anew with each answer", async () => {
    const { clock, ticket, now } = learned("1000000");
    await clock.advance(ticketKeepMs - 1);
    ticket.learn("7");
    expect(now()).toBe(7);
    await clock.advance(ticketKeepMs);
    expect(now()).toBeDefined();
  });
});

describe("a value that is no time", () => {
  it.each([null, "", " ", "now", "-1", "1.5", "1e9", "0x10", "+5", "1 2", "1234567890123456"])(
    "%s is ignored",
    (value) => {
      expect(learned(value).now()).toBeUndefined();
      const known = learned("42");
      known.ticket.learn(value);
      expect(known.now()).toBe(42);
    },
  );
});
