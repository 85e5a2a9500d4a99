import { describe, expect, it } from "vitest";
import { Source } from "../base/watchable.ts";
import { linkLine } from "../link/link-line.ts";
import { type LinkState, linkAtFirst } from "../link/link-state.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { showEachLine, showLine } from "./terminal-line.ts";

function setUp() {
  const clock = virtualClock();
  const state = new Source<LinkState>(linkAtFirst);
  const shown: string[] = [];
  const link = { state, line: () => linkLine(state.value, clock.now()) };
  const out = { write: (text: string) => shown.push(text) };
  const down = (cause = "cut", since = clock.now()): void =>
    state.set({ kind: "down", since, host: "example.com", cause: new Error(cause), nextTryAt: undefined });
  const up = (downForMs?: number): void =>
    state.set({ kind: "up", since: clock.now(), ...(downForMs === undefined ? {} : { downForMs }) });
  return { clock, state, shown, link, out, down, up };
}

describe("a short program", () => {
  it("shows the line of down once, when it has lasted a second", async () => {
    const { clock, shown, link, out, down } = setUp();
    showLine(link, out, { clock });
    down();
    await clock.advance(999);
    down("refused", clock.now() - 999);
    expect(shown).toEqual([]);
    await clock.advance(1);
    expect(shown).toEqual(["no reply from example.com for 1 s, trying now: refused\n"]);
    down();
    await clock.advance(60_000);
    expect(shown).toHaveLength(1);
  });

  it("shows nothing of a blink, nor of what is over, and leaves no timer", async () => {
    const { clock, shown, link, out, down, up } = setUp();
    const stop = showLine(link, out, { clock, afterMs: 500 });
    down();
    await clock.advance(499);
    up(499);
    await clock.advance(10_000);
    down();
    stop();
    expect(clock.pendingCount).toBe(0);
    down();
    expect([shown, clock.pendingCount]).toEqual([[], 0]);
  });

  it("shows the second outage when the first was a blink, and none after one that it has shown", async () => {
    const { clock, shown, link, out, down, up } = setUp();
    showLine(link, out, { clock });
    down();
    up(1);
    down();
    await clock.advance(1_000);
    up(1_000);
    down();
    await clock.advance(5_000);
    expect(shown).toHaveLength(1);
  });

  it("looks at a link that is down already", async () => {
    const { clock, shown, link, out, down } = setUp();
    down();
    showLine(link, out, { clock });
    await clock.advance(1_000);
    expect(shown).toHaveLength(1);
  });
});

describe("a program that runs on", () => {
  it("shows each change once, and a down that goes on is none", () => {
    const { shown, state, link, out, down, up } = setUp();
    const stop = showEachLine(link, out);
    up();
    down();
    down("refused");
    up(14_000);
    state.set({ kind: "refused", host: "example.com", reason: "SIGN_IN_GONE", cause: new Error("no") });
    stop();
    down();
    expect(shown).toEqual([
      "no reply from example.com for 0 s, trying now: cut\n",
      "back after 14 s\n",
      "example.com refuses this sign-in\n",
    ]);
  });
});
