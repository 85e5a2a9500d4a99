import { describe, expect, it } from "vitest";
import { UpTime } from "./up-time.ts";

describe("up time", () => {
  it("goes on with the clock while ticks come on time, also when one is a little late", () => {
    const time = new UpTime(1_000, 500);
    expect(time.at(1_200)).toBe(700);
    expect(time.tick(1_500)).toBe(true);
    expect(time.at(1_500)).toBe(1_000);
    expect(time.tick(3_400)).toBe(true);
  });

  it("counts no pause, and says that there was one", () => {
    const time = new UpTime(1_000, 0);
    time.tick(1_000);
    expect(time.at(200_000)).toBe(2_000);
    expect(time.tick(200_000)).toBe(false);
    expect(time.at(200_000)).toBe(2_000);
    expect(time.tick(201_000)).toBe(true);
    expect(time.at(201_000)).toBe(3_000);
  });
});
