import { expect, it } from "vitest";
import { systemRandom } from "../base/random.ts";
import { newId } from "./call-id.ts";
import { isId } from "./headers.ts";

it("is 16 random bytes in base64url, without padding", () => {
  const counts: number[] = [];
  const bytes = (count: number): Uint8Array<ArrayBuffer> => {
    counts.push(count);
    return new Uint8Array(count).fill(0xfb);
  };
  const id = newId({ bytes, fraction: () => 0 });
  expect(counts).toEqual([16]);
  expect(id).toBe(Buffer.alloc(16, 0xfb).toString("base64url"));
  expect(id).toMatch(/^[-_0-9A-Za-z]{22}$/);
});

it("is one that every reader of IDs takes, and another one each time", () => {
  const ids = Array.from({ length: 1_000 }, () => newId(systemRandom));
  expect(ids.every(isId)).toBe(true);
  expect(new Set(ids).size).toBe(1_000);
});
