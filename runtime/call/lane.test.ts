import { expect, it } from "vitest";
import { seededRandom } from "../testing/seeded-random.ts";
import { Lane } from "./lane.ts";

it("gives numbers from 1 on, and none is settled at first", () => {
  const lane = new Lane("lane");
  expect([lane.next(), lane.next(), lane.next()]).toEqual([1, 2, 3]);
  expect(lane.settled).toBe(0);
});

it("settles up to the first number that is not settled", () => {
  const lane = new Lane("lane");
  const settledAfter = [2, 3, 1, 5, 4].map((seq) => {
    lane.settle(seq);
    return lane.settled;
  });
  expect(settledAfter).toEqual([0, 0, 3, 3, 5]);
});

it("takes a number that is settled twice as settled once", () => {
  const lane = new Lane("lane");
  for (const seq of [1, 1, 3, 3, 1]) lane.settle(seq);
  expect(lane.settled).toBe(1);
  lane.settle(2);
  expect(lane.settled).toBe(3);
});

it("has all of them settled in the end, in whatever order they were", () => {
  const random = seededRandom("lane");
  const lane = new Lane("lane");
  const open = Array.from({ length: 500 }, () => lane.next());
  const over = new Set<number>();
  while (open.length > 0) {
    const [seq = 0] = open.splice(random.int(open.length), 1);
    over.add(seq);
    lane.settle(seq);
    for (let below = 1; below <= lane.settled; below += 1) expect(over.has(below)).toBe(true);
    expect(over.has(lane.settled + 1)).toBe(false);
  }
  expect(lane.settled).toBe(500);
});
