import { expect, test } from "vitest";
import { seededRandom } from "../testing/seeded-random.ts";
import { JsonWriter } from "./json-writer.ts";

function written(value: number): string {
  const writer = new JsonWriter();
  writer.number(value);
  return new TextDecoder().decode(writer.bytes.subarray(0, writer.pos));
}

const edges = [
  0,
  0.001,
  0.0005,
  0.1,
  0.25,
  0.999,
  0.9999,
  1.1,
  9.999,
  10.01,
  129.95,
  1e-7,
  5e-324,
  99_999_999.999,
  1e8 + 0.5,
  999_999_999_999.999,
  1e12,
  1e12 + 0.001,
  1e15,
  1e21,
  1.7976931348623157e308,
  0.1 + 0.2,
  1.005,
  4.35,
  2 ** 53,
];

test("numbers are written as String writes them", () => {
  const random = seededRandom(4);
  const below = (end: number) => Math.floor(random.fraction() * end);
  const values = [...edges];
  for (let power = 0; power <= 16; power++) values.push(10 ** power, 10 ** power - 1, 10 ** power + 1);
  for (let i = 0; i < 5_000; i++) {
    const digits = below(10 ** (1 + below(16)));
    values.push(digits, digits / 10, digits / 100, digits / 1000, digits / 10_000, random.fraction());
  }
  for (const value of values) {
    for (const signed of value === 0 ? [0] : [value, -value])
      if (written(signed) !== String(signed)) expect.fail(`${signed} became ${written(signed)}`);
  }
});
