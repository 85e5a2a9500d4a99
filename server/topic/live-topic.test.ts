import { toBinary, create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import type { Codec, Plain } from "../../runtime/codec/codec.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { msgpackCodec } from "../../runtime/codec/msgpack.ts";
import { FollowResponseSchema, ReadResponseSchema } from "../../test/gen/test/v1/tally_pb.ts";
import type { TopicFollower } from "./follower.ts";
import { LiveTopic } from "./live-topic.ts";

function topicOf({ keepCount = 8, roomCount = 3 } = {}): LiveTopic {
  return new LiveTopic({ schema: ReadResponseSchema, epoch: "e1", lastSeq: 0, keepCount, roomCount });
}

function push(topic: LiveTopic, count = 1, text = ""): void {
  for (let made = 0; made < count; made += 1)
    topic.push(toBinary(ReadResponseSchema, create(ReadResponseSchema, { text })));
}

/** The numbers that a follower has now, or how else it stands. */
function take(follower: TopicFollower): number[] | string {
  const taken = follower.takeBatch();
  return typeof taken === "string" ? taken : taken.items.map(({ seq }) => seq);
}

/** The number of the one stream of a Follow. */
const onlyStream = 1;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a topic", () => {
  it("numbers items from 1", () => {
    const topic = topicOf();
    expect(topic.push(new Uint8Array())).toBe(1);
    expect(topic.push(new Uint8Array())).toBe(2);
  });

  it("begins with the next item for who follows for the first time, or some items back", () => {
    const topic = topicOf();
    push(topic, 20);
    expect(topic.follow(undefined, 0).at).toEqual({ epoch: "e1", seq: 20 });
    expect(take(topic.follow(undefined, 3))).toEqual([18, 19, 20]);
    const all = topic.follow(undefined, 100);
    expect([all.at.seq, all.lost, take(all)]).toEqual([12, undefined, [13, 14, 15, 16, 17, 18, 19, 20]]);
  });

  it("resumes behind the place that was asked for, also the one before the first item", () => {
    const topic = topicOf();
    push(topic, 3);
    const beginning = topic.follow({ epoch: "e1", seq: 0 }, 0);
    expect([beginning.at.seq, beginning.restarted, take(beginning)]).toEqual([0, false, [1, 2, 3]]);
    expect(take(topic.follow({ epoch: "e1", seq: 2 }, 0))).toEqual([3]);
    expect(take(topic.follow({ epoch: "e1", seq: 3 }, 0))).toBe("nothing");
  });

  it("says how many items are lost when the ring has moved on", () => {
    const topic = topicOf();
    push(topic, 20);
    const follower = topic.follow({ epoch: "e1", seq: 5 }, 0);
    expect(follower.at).toEqual({ epoch: "e1", seq: 5 });
    expect(follower.lost).toEqual({ count: 7, seq: 12 });
    expect(take(follower)).toEqual([13, 14, 15, 16, 17, 18, 19, 20]);
    expect(topic.follow({ epoch: "e1", seq: 12 }, 0).lost).toBeUndefined();
  });

  it("begins anew, with all that it has, for a place of another epoch or one that has not come", () => {
    const topic = topicOf();
    push(topic, 2);
    for (const after of [
      { epoch: "e0", seq: 1 },
      { epoch: "e1", seq: 3 },
    ]) {
      const follower = topic.follow(after, 0);
      expect([follower.restarted, follower.at, take(follower)]).toEqual([
        true,
        { epoch: "e1", seq: 0 },
        [1, 2],
      ]);
    }
  });

  it("wakes who waits once, at the end of the turn, with all that it brought", async () => {
    const topic = topicOf();
    const follower = topic.follow(undefined, 0);
    const wake = vi.fn();
    follower.wait(wake);
    push(topic, 2);
    await Promise.resolve();
    push(topic, 1);
    expect(wake).not.toHaveBeenCalled();
    await turn();
    expect(wake).toHaveBeenCalledOnce();
    expect(take(follower)).toEqual([1, 2, 3]);
    push(topic, 1);
    await turn();
    expect(wake).toHaveBeenCalledOnce();
  });

  it("tells nobody who has left", async () => {
    const topic = topicOf();
    const follower = topic.follow(undefined, 0);
    const wake = vi.fn();
    follower.wait(wake);
    follower.close();
    follower.close();
    push(topic);
    await turn();
    expect(wake).not.toHaveBeenCalled();
    expect(topic.followerCount).toBe(0);
  });

  it("shapes an item once for each codec, and packs it once for all who are at the same place", () => {
    const topic = topicOf();
    const shaped: string[] = [];
    const counting = (codec: Codec): Codec => ({
      ...codec,
      name: codec.name,
      shape: (desc, message): Plain => {
        if (desc.typeName === ReadResponseSchema.typeName) shaped.push(codec.name);
        return codec.shape(desc, message);
      },
      unshape: (desc, plain) => codec.unshape(desc, plain),
      pack: (plain) => codec.pack(plain),
      packList: (plains) => codec.packList(plains),
      unpack: (bytes) => codec.unpack(bytes),
      unpackList: (bytes) => codec.unpackList(bytes),
    });
    const json = counting(jsonCodec);
    const msgpack = counting(msgpackCodec);
    const followers = Array.from({ length: 10 }, () => topic.follow(undefined, 0));
    push(topic, 2);
    const packets = followers.map((follower, index) => {
      const batch = follower.takeBatch();
      if (typeof batch === "string") return expect.unreachable(batch);
      return batch.packets(index < 5 ? json : msgpack, onlyStream)[0];
    });
    expect(shaped).toEqual(["json", "json", "msgpack", "msgpack"]);
    expect(new Set(packets).size).toBe(2);
    const late = topic.follow({ epoch: "e1", seq: 1 }, 0).takeBatch();
    if (typeof late === "string") return expect.unreachable(late);
    late.packets(json, onlyStream);
    late.packets(json, 7);
    expect(shaped).toHaveLength(4);
  });
});

describe("a follower's room", () => {
  it("holds so many items that were published while it was not written to, and no more", () => {
    const topic = topicOf();
    const follower = topic.follow(undefined, 0);
    push(topic, 3);
    expect(take(follower)).toEqual([1, 2, 3]);
    push(topic, 4);
    expect(take(follower)).toBe("lagged");
    const other = topic.follow(undefined, 0);
    push(topic, 3);
    expect(take(other)).toEqual([8, 9, 10]);
  });

  it("is no matter for a burst of one turn that comes to who waits", async () => {
    const topic = topicOf();
    const follower = topic.follow(undefined, 0);
    follower.wait(() => undefined);
    push(topic, 8);
    await turn();
    expect(take(follower)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("is no matter for what a follower catches up with that comes back", () => {
    const topic = topicOf();
    push(topic, 8);
    const follower = topic.follow({ epoch: "e1", seq: 0 }, 0);
    push(topic, 3);
    expect(take(follower)).toBe("lagged"); // the ring has moved past 1, 2 and 3
    const again = topic.follow({ epoch: "e1", seq: 0 }, 0);
    expect(again.lost).toEqual({ count: 3, seq: 3 });
    expect(take(again)).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("is 1 MiB at most, and always has place for one item", () => {
    const topic = topicOf({ roomCount: 100, keepCount: 100 });
    const follower = topic.follow(undefined, 0);
    const half = "x".repeat(524_000);
    push(topic, 2, half);
    expect(take(follower)).toEqual([1]);
    expect(take(follower)).toEqual([2]);
    push(topic, 3, half);
    expect(take(follower)).toBe("lagged");
    const other = topic.follow(undefined, 0);
    push(topic, 1, "x".repeat(1_040_000));
    expect(take(other)).toEqual([6]);
  });

  it("costs nothing where it is: what waits for all lies in the ring once", () => {
    const topic = new LiveTopic({
      schema: FollowResponseSchema,
      epoch: "e",
      lastSeq: 0,
      keepCount: 1_024,
      roomCount: 256,
    });
    const followers = Array.from({ length: 1_000 }, () => topic.follow(undefined, 0));
    for (let made = 0; made < 5_000; made += 1) topic.push(new Uint8Array(1_000));
    expect(followers.map((follower) => follower.takeBatch())).toEqual(followers.map(() => "lagged"));
  });
});
