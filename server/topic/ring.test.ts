import { describe, expect, it } from "vitest";
import { FollowResponseSchema } from "../../test/gen/test/v1/tally_pb.ts";
import { TopicItem } from "./item.ts";
import { Ring } from "./ring.ts";

function item(seq: number, size = 1): TopicItem {
  return new TopicItem(FollowResponseSchema, seq, new Uint8Array(size), 0);
}

const all = { countMost: 100, bytesMost: 1_000_000 };
const seqsAfter = (ring: Ring, seq: number, bounds = all): number[] =>
  ring.after(seq, bounds).map((each) => each.seq);

describe("ring", () => {
  it("keeps the last items by count", () => {
    const ring = new Ring({ countMost: 3, bytesMost: 1_000 }, 0);
    for (let seq = 1; seq <= 5; seq += 1) ring.push(item(seq));
    expect(ring.firstSeq).toBe(3);
    expect(seqsAfter(ring, 2)).toEqual([3, 4, 5]);
    expect(ring.get(2)).toBeUndefined();
  });

  it("keeps no more bytes than it may, but for the newest item", () => {
    const ring = new Ring({ countMost: 100, bytesMost: 10 }, 0);
    ring.push(item(1, 6));
    ring.push(item(2, 6));
    expect([ring.firstSeq, ring.bytes]).toEqual([2, 6]);
    ring.push(item(3, 50));
    expect([ring.firstSeq, ring.bytes]).toEqual([3, 50]);
    ring.push(item(4, 4));
    expect([ring.firstSeq, ring.bytes]).toEqual([4, 4]);
  });

  it("knows where it begins while it is empty", () => {
    expect(new Ring(all, 41).firstSeq).toBe(42);
  });

  it("gives items behind a number within bounds, and one at least", () => {
    const ring = new Ring(all, 10);
    for (let seq = 11; seq <= 15; seq += 1) ring.push(item(seq, 4));
    expect(seqsAfter(ring, 10, { countMost: 2, bytesMost: 100 })).toEqual([11, 12]);
    expect(seqsAfter(ring, 12, { countMost: 9, bytesMost: 9 })).toEqual([13, 14]);
    expect(seqsAfter(ring, 12, { countMost: 9, bytesMost: 1 })).toEqual([13]);
    expect(seqsAfter(ring, 15)).toEqual([]);
  });
});
