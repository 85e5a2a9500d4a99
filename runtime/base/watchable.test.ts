import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Source } from "./watchable.ts";

/** All that a loop sees until its source closes. */
async function seenBy<T>(source: Source<T>): Promise<readonly T[]> {
  const seen: T[] = [];
  for await (const value of source) seen.push(value);
  return seen;
}

describe("a subscriber", () => {
  it("hears every change from then on, until it is removed", () => {
    const source = new Source(0);
    const heard: number[] = [];
    source.set(1);
    const stop = source.subscribe((value) => heard.push(value));
    source.set(2);
    source.set(2);
    stop();
    stop();
    source.set(3);
    expect(heard).toEqual([2, 2]);
    expect([source.value, source.get()]).toEqual([3, 3]);
  });

  it("given twice is called twice, and each is removed by its own", () => {
    const source = new Source(0);
    const heard: number[] = [];
    const hear = (value: number): void => void heard.push(value);
    const stop = source.subscribe(hear);
    source.subscribe(hear);
    source.set(1);
    stop();
    source.set(2);
    expect(heard).toEqual([1, 1, 2]);
  });

  it("that is removed by another one during a change does not hear of it any more", () => {
    const source = new Source(0);
    const heard: string[] = [];
    let stop: () => void = () => undefined;
    source.subscribe(() => stop());
    stop = source.subscribe((value) => heard.push(`removed ${value}`));
    source.set(1);
    expect(heard).toEqual([]);
  });

  it("that sets the value lets everybody hear both changes in their order", async () => {
    const source = new Source(0);
    const heard: number[] = [];
    source.subscribe((value) => {
      if (value === 1) source.set(2);
    });
    source.subscribe((value) => heard.push(value));
    const loop = seenBy(source);
    source.set(1);
    expect(heard).toEqual([1, 2]);
    source.close();
    expect(await loop).toEqual([0, 1, 2]);
  });

  it("hears nothing after the owner has closed, and the value stays", () => {
    const source = new Source(0);
    const heard: number[] = [];
    source.subscribe((value) => heard.push(value));
    source.close();
    source.set(1);
    expect(heard).toEqual([]);
    expect(source.value).toBe(0);
  });
});

describe("a subscriber that throws", () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  let others: NodeJS.UncaughtExceptionListener[] = [];
  beforeEach(() => {
    others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", note);
  });
  afterEach(() => {
    process.off("uncaughtException", note);
    for (const other of others) process.on("uncaughtException", other);
  });

  it("keeps nobody else from hearing, and its error is seen as its own", async () => {
    const source = new Source(0);
    const heard: number[] = [];
    const mistake = new Error("the program's own");
    source.subscribe(() => {
      throw mistake;
    });
    source.subscribe((value) => heard.push(value));
    const loop = seenBy(source);
    source.set(1);
    expect(heard).toEqual([1]);
    source.close();
    expect(await loop).toEqual([0, 1]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(uncaught).toEqual([mistake]);
  });
});

describe("a loop", () => {
  it("begins with the present value, and ends when the owner closes, after what still waits", async () => {
    const source = new Source("a");
    source.set("b");
    const loop = seenBy(source);
    source.set("c");
    source.set("d");
    source.close();
    expect(await loop).toEqual(["b", "c", "d"]);
    expect(await seenBy(source)).toEqual(["d"]);
  });

  it("that is slow has the last 64 changes waiting", async () => {
    const source = new Source(0);
    const loop = source[Symbol.asyncIterator]();
    expect(await loop.next()).toEqual({ done: false, value: 0 });
    for (let value = 1; value <= 100; value += 1) source.set(value);
    source.close();
    const rest: number[] = [];
    for (let next = await loop.next(); next.done !== true; next = await loop.next()) rest.push(next.value);
    expect(rest).toEqual(Array.from({ length: 64 }, (_, at) => 37 + at));
  });

  it("sees undefined as a value like any other", async () => {
    const source = new Source<number | undefined>(undefined);
    const loop = seenBy(source);
    source.set(undefined);
    source.close();
    expect(await loop).toEqual([undefined, undefined]);
  });

  it("that is left ends a read of it that waits, and leaves nothing subscribed", async () => {
    const source = new Source(0);
    const loop = source[Symbol.asyncIterator]();
    await loop.next();
    const waiting = loop.next();
    await loop.return?.();
    source.set(1);
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await loop.next()).toEqual({ done: true, value: undefined });
  });

  it("gives two reads at once the next two changes", async () => {
    const source = new Source(0);
    const loop = source[Symbol.asyncIterator]();
    await loop.next();
    const reads = Promise.all([loop.next(), loop.next(), loop.next()]);
    source.set(1);
    await Promise.resolve();
    source.set(2);
    source.close();
    expect(await reads).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
    ]);
  });

  it("misses no value that was set in the turn in which the owner closed", async () => {
    const source = new Source(0);
    source.subscribe(() => source.close());
    const loop = seenBy(source);
    source.set(1);
    expect(await loop).toEqual([0, 1]);
  });
});
