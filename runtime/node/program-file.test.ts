import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type VirtualClock, virtualClock } from "../testing/virtual-clock.ts";
import { changedSince, lookEveryMs, nextVersion, versionOf } from "./program-file.ts";

let folder: string;
let file: string;
let clock: VirtualClock;
let found: string | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-program-"));
  file = join(folder, "program.mjs");
  writeFileSync(file, "one");
  clock = virtualClock();
  found = undefined;
});
afterEach(() => rmSync(folder, { recursive: true }));

async function wait(signal?: AbortSignal): Promise<void> {
  const old = await versionOf(file);
  found = await nextVersion(file, old, clock, signal);
}

/** One look: the file system answers in its own time, then the clock moves. */
async function look(): Promise<void> {
  while (clock.pendingCount === 0 && found === undefined) await setImmediate();
  await clock.advance(lookEveryMs);
  while (clock.pendingCount === 0 && found === undefined) await setImmediate();
}

async function looks(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await look();
}

describe("the next version of a program's file", () => {
  it("is one that has not changed for a second", async () => {
    void wait();
    await looks(5);
    writeFileSync(file, "two");
    await looks(2);
    writeFileSync(file, "three");
    await looks(2);
    expect(found).toBeUndefined();
    await look();
    expect(found).toBe(await versionOf(file));
  });

  it("is neither a file that is gone nor one that is empty", async () => {
    void wait();
    await look();
    rmSync(file);
    await looks(4);
    writeFileSync(file, "");
    await looks(4);
    expect(found).toBeUndefined();
    writeFileSync(file, "two");
    await looks(3);
    expect(found).toBeDefined();
  });

  it("is noticed also when it has the same size and date, and was renamed over the old one", async () => {
    utimesSync(file, 1_000, 1_000);
    void wait();
    await look();
    writeFileSync(join(folder, "new"), "two");
    utimesSync(join(folder, "new"), 1_000, 1_000);
    renameSync(join(folder, "new"), file);
    await looks(3);
    expect(found).toBeDefined();
  });

  it("is waited for no longer when the signal aborts, and leaves no timer", async () => {
    const stop = new AbortController();
    const waiting = wait(stop.signal);
    await look();
    stop.abort();
    await waiting;
    expect([found, clock.pendingCount]).toEqual([undefined, 0]);
  });
});

describe("a file", () => {
  it("has changed since an instant when the file system says so", async () => {
    expect(await changedSince(file, Date.now() - 60_000)).toBe(true);
    expect(await changedSince(file, Date.now() + 60_000)).toBe(false);
    expect(await changedSince(join(folder, "none"), 0)).toBe(false);
  });
});
