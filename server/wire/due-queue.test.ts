import { describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type Due, DueQueue } from "./due-queue.ts";

interface Named extends Due {
  readonly name: string;
}

function world() {
  const clock = virtualClock();
  const queue = new DueQueue(clock);
  const came: string[] = [];
  const one = (name: string, then: () => void = () => undefined): Named => ({
    name,
    dueAt: 0,
    place: -1,
    due() {
      came.push(`${name}@${clock.monotonic()}`);
      then();
    },
  });
  return { clock, queue, came, one };
}

describe("a queue of instants", () => {
  it("calls each at its instant, with one timer for all, and none when it is empty", async () => {
    const { clock, queue, came, one } = world();
    const gone = one("gone");
    for (const [entry, at] of [
      [one("b"), 20],
      [gone, 15],
      [one("a"), 10],
      [one("c"), 30],
    ] as const)
      queue.add(entry, at);
    expect(clock.pendingCount).toBe(1);
    queue.remove(gone);
    queue.remove(gone);
    await clock.advance(100);
    expect(came).toEqual(["a@10", "b@20", "c@30"]);
    expect(clock.pendingCount).toBe(0);
  });

  it("takes one in again from inside its call, and one whose instant is over at once", async () => {
    const { clock, queue, came, one } = world();
    const again: Named = one("x", () => {
      if (came.length < 3) queue.add(again, clock.monotonic() + 5);
    });
    queue.add(again, 5);
    await clock.advance(7);
    queue.add(one("late"), 1);
    await clock.advance(20);
    expect(came).toEqual(["x@5", "late@7", "x@10"]);
  });

  it("keeps the order of a thousand that come and go", async () => {
    const { clock, queue, came, one } = world();
    const random = seededRandom(7);
    const all = Array.from({ length: 1_000 }, (_, index) => one(`${index}`));
    for (const entry of all) queue.add(entry, Math.floor(random.fraction() * 500));
    const left = all.filter((_, index) => index % 3 !== 0);
    for (const [index, entry] of all.entries()) if (index % 3 === 0) queue.remove(entry);
    await clock.advance(1_000);
    const instants = came.map((text) => Number(text.split("@")[1]));
    expect(instants).toEqual(left.map(({ dueAt }) => dueAt).sort((a, b) => a - b));
  });
});
