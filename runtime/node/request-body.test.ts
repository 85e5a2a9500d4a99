import { describe, expect, it } from "vitest";
import { RequestBody } from "./request-body.ts";

async function* parts(...sizes: number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) yield new Uint8Array(size).fill(++at);
}

async function all(next: () => Promise<IteratorResult<Uint8Array, undefined>>): Promise<number[]> {
  const seen: number[] = [];
  for (let result = await next(); result.done !== true; result = await next())
    seen.push(result.value[0] ?? -1);
  return seen;
}

describe("RequestBody", () => {
  it("gives the same chunks again, from a source that can be read only once", async () => {
    const body = new RequestBody(parts(1, 2, 3));
    const first = body.read();
    await first();
    expect(await all(body.read())).toEqual([1, 2, 3]);
    expect(await all(body.read())).toEqual([1, 2, 3]);
    expect(await first()).toMatchObject({ done: true }); // an earlier reading is over
  });

  it("loses no chunk that an earlier reading still waits for", async () => {
    let give: (() => void) | undefined;
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      await new Promise<void>((resolve) => (give = resolve));
      yield* parts(1, 1);
    };
    const body = new RequestBody(slow());
    const early = body.read()();
    const later = all(body.read());
    give?.();
    expect(await early).toMatchObject({ done: true });
    expect(await later).toEqual([1, 2]);
  });

  it("keeps one chunk of any size, and no more than a MiB of many", async () => {
    const one = new RequestBody(parts(5_000_000));
    await all(one.read());
    expect(one.again).toBe(true);
    const many = new RequestBody(parts(600_000, 600_000, 10));
    expect(await all(many.read())).toEqual([1, 2, 3]);
    expect(many.again).toBe(false);
  });

  it("keeps nothing once the answer has come", async () => {
    const body = new RequestBody(parts(1, 1, 1));
    const next = body.read();
    await next();
    body.keepNoMore();
    expect(await all(next)).toEqual([2, 3]);
    expect(body.again).toBe(false);
  });

  it("is over at once without a source, and lets go of one when it is stopped", async () => {
    expect(await all(new RequestBody(undefined).read())).toEqual([]);
    let over = false;
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(1);
      } finally {
        over = true;
      }
    };
    const body = new RequestBody(source());
    await body.read()();
    body.stop();
    await Promise.resolve();
    expect(over).toBe(true);
  });
});
