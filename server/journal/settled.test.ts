import { expect, it } from "vitest";
import { Settled } from "./settled.ts";

it("remembers the highest word of a lane's running calls, and nothing once none runs", () => {
  const settled = new Settled();
  settled.enter("by ada", "lane", 3);
  settled.enter("by ada", "lane", 1);
  settled.enter("by ben", "lane", 9);
  expect(settled.watermark("by ada", "lane")).toBe(3);
  settled.leave("by ada", "lane");
  expect(settled.watermark("by ada", "lane")).toBe(3);
  settled.leave("by ada", "lane");
  settled.leave("by ben", "lane");
  expect(settled.watermark("by ada", "lane")).toBe(0);
  expect(settled.laneCount).toBe(0);
});
