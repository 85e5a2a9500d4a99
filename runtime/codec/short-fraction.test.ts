import { expect, test } from "vitest";
import { seededRandom } from "../testing/seeded-random.ts";
import { shortFraction } from "./short-fraction.ts";

const encoder = new TextEncoder();

function read(text: string): number | undefined {
  const dot = text.indexOf(".");
  return shortFraction(encoder.encode(text), dot + 1, text.length, Number(text.slice(0, dot)), dot);
}

test("a short fraction is the double that Number gives, whatever its digits", () => {
  const random = seededRandom(6);
  const below = (end: number) => Math.floor(random.fraction() * end);
  for (let i = 0; i < 20_000; i++) {
    const digits = below(10 ** (1 + below(15))).toString();
    const padded = digits.padStart(2, "0");
    const dot = 1 + below(padded.length - 1);
    const text = `${padded.slice(0, dot)}.${padded.slice(dot)}`;
    if (read(text) !== Number(text)) expect.fail(text);
  }
});

test("more digits than a double holds, and exponents, are left to Number", () => {
  expect(read("0.00000000000001")).toBe(1e-14);
  expect(read("0.000000000000001")).toBeUndefined();
  expect(read("1234567.123456789")).toBeUndefined();
  expect(read("1.5e3")).toBeUndefined();
});
