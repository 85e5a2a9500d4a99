/**
 * What every store must do. A store's own test calls {@link storeSuite} with how to open one, and adds only
 * what is its own.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Code } from "@connectrpc/connect";
import { callKeepMs } from "../../runtime/base/constants.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type Claim, type Outcome, type Store, StoreError } from "../../server/store/store.ts";

/** A store to test, and what its kind allows. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Removes what the store has left on disk or in a database. */
  cleanUp(): Promise<void>;
}

const hourMs = 3_600_000;

/** A call of Ada's, with what a test changes. */
export function claimOf(id: string, changes: Partial<Claim> = {}): Claim {
  return {
    space: "by ada",
    id,
    quota: "by ada",
    method: "a.B.C",
    fingerprint: { version: 1, schema: Uint8Array.of(1, 2), print: Uint8Array.of(3, 4) },
    seat: undefined,
    settled: 0,
    firstSentMs: undefined,
    ...changes,
  };
}

export const ran = (...bytes: number[]): Outcome => ({ kind: "ran", reply: Uint8Array.from(bytes) });

/** Runs the suite. `open` opens an empty store of its own on the clock given. */
export function storeSuite(name: string, open: (clock: VirtualClock) => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let clock: VirtualClock;
    let opened: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      clock = virtualClock();
      opened = await open(clock);
      store = opened.store;
    });
    afterEach(async () => {
      await store.close();
      await opened.cleanUp();
    });
    const find = (id: string, lane?: string, space = "by ada") => store.find({ space, id }, lane);
    const onLane = (seq: number, settled: number, changes: Partial<Claim> = {}): Claim =>
      claimOf(`call${seq}`, { seat: { lane: "lane1", seq }, settled, firstSentMs: clock.now(), ...changes });

    it("knows nothing of a key that was never kept", async () => {
      expect(await find("a", "lane1")).toMatchObject({ kept: undefined, watermark: 0, fullForMs: undefined });
    });

    it.each<[string, Outcome]>([
      ["a reply", ran(1, 2, 3)],
      ["an empty reply", ran()],
      ["a marker", { kind: "marker" }],
      [
        "a refusal",
        {
          kind: "refused",
          code: Code.NotFound,
          reason: "NO_SUCH_METHOD",
          message: "no 🐟",
          details: [{ type: "a.B", value: Uint8Array.of(0, 255) }],
        },
      ],
      [
        "a refusal with little in it",
        { kind: "refused", code: Code.Aborted, reason: undefined, message: "", details: [] },
      ],
    ])("gives back %s as it was kept, with all of its claim", async (_, outcome) => {
      const claim = onLane(1, 0);
      expect(await store.commit(claim, () => outcome)).toEqual({ kind: "kept" });
      const { kept } = await find("call1", "lane1");
      const expected: Partial<Claim> & object = { ...claim };
      Reflect.deleteProperty(expected, "settled");
      expect(kept).toEqual({ ...expected, outcome, endedAtMs: clock.now() });
    });

    it("keeps a plain client's call, which has no lane and no first sending", async () => {
      await store.commit(claimOf("a"), () => ran(1));
      expect((await find("a")).kept).toMatchObject({ seat: undefined, firstSentMs: undefined });
    });

    it("tells the spaces of callers apart", async () => {
      await store.commit(claimOf("a"), () => ran(1));
      await store.commit(claimOf("a", { space: "by ben" }), () => ran(2));
      expect((await find("a")).kept?.outcome).toEqual(ran(1));
      expect((await find("a", undefined, "by ben")).kept?.outcome).toEqual(ran(2));
      expect((await find("a", undefined, "by a")).kept).toBeUndefined();
    });

    it("never keeps a second outcome under a key, and says what the first was", async () => {
      await store.commit(claimOf("a"), () => ran(1));
      let decided = false;
      const second = await store.commit(claimOf("a"), () => {
        decided = true;
        return ran(2);
      });
      expect(second).toMatchObject({ kind: "taken", entry: { outcome: ran(1) } });
      expect(decided).toBe(false);
      expect((await find("a")).kept?.outcome).toEqual(ran(1));
    });

    it("replaces what has only started by how it ended, and removes it for a decision of nothing", async () => {
      const started: Outcome = { kind: "started" };
      expect(await store.commit(onLane(1, 0), () => started)).toEqual({ kind: "kept" });
      expect((await find("call1", "lane1")).kept?.outcome).toEqual(started);
      expect(await store.commit(onLane(1, 0), () => ran(1))).toEqual({ kind: "kept" });
      expect((await find("call1", "lane1")).kept?.outcome).toEqual(ran(1));
      await store.commit(onLane(2, 0), () => started);
      expect(await store.commit(onLane(2, 0), () => undefined)).toEqual({ kind: "kept" });
      expect((await find("call2", "lane1")).kept).toBeUndefined();
      expect(await store.commit(onLane(2, 0), () => ran(2))).toEqual({ kind: "kept" });
    });

    it("leaves what has started as it was when the decision on its end throws", async () => {
      await store.commit(claimOf("a"), () => ({ kind: "started" }));
      const no = new Error("no");
      const write = store.commit(claimOf("a"), () => {
        throw no;
      });
      await expect(write).rejects.toBe(no);
      expect((await find("a")).kept?.outcome).toEqual({ kind: "started" });
    });

    it("writes without a call, and hands on what the work returned or threw", async () => {
      expect(await store.write(() => 7)).toBe(7);
      const no = new Error("no");
      const write = store.write(() => {
        throw no;
      });
      await expect(write).rejects.toBe(no);
    });

    it("keeps nothing when the decision throws, and hands on that very error", async () => {
      const no = new Error("no");
      const write = store.commit(onLane(2, 1), () => {
        throw no;
      });
      await expect(write).rejects.toBe(no);
      expect(await find("call2", "lane1")).toMatchObject({ kept: undefined, watermark: 0 });
      expect(await store.commit(onLane(2, 1), () => ran(1))).toEqual({ kind: "kept" });
    });

    it("keeps many that come at once, each on its own", async () => {
      const ids = Array.from({ length: 100 }, (_, index) => `call${index}`);
      const no = new Error("no");
      const writes = ids.map((id, index) =>
        store.commit(claimOf(id), () => {
          if (index % 10 === 3) throw no;
          return ran(index);
        }),
      );
      const results = await Promise.allSettled(writes);
      for (const [index, id] of ids.entries()) {
        const refused = index % 10 === 3;
        expect(results[index]?.status).toBe(refused ? "rejected" : "fulfilled");
        expect((await find(id)).kept?.outcome).toEqual(refused ? undefined : ran(index));
      }
    });

    it("moves a lane's watermark with the next call's key, never back, and for that lane alone", async () => {
      await store.commit(onLane(1, 0), () => ran(1));
      await store.commit(onLane(3, 2), () => ran(3));
      expect((await find("call3", "lane1")).watermark).toBe(2);
      await store.commit(onLane(4, 1), () => ran(4));
      expect((await find("call3", "lane1")).watermark).toBe(2);
      expect((await find("call3", "lane2")).watermark).toBe(0);
      expect((await find("call3", "lane1", "by ben")).watermark).toBe(0);
      expect((await find("call3")).watermark).toBe(0);
      expect((await find("call3", "lane1")).kept).toBeDefined();
    });

    it("either keeps a settled call or leaves the watermark to tell of it", async () => {
      await store.commit(onLane(1, 0), () => ran(1));
      await store.commit(onLane(2, 1), () => ran(2));
      const found = await find("call1", "lane1");
      expect(found.kept !== undefined || found.watermark >= 1).toBe(true);
    });

    it("takes any number for a lane's settling", async () => {
      const most = Number.MAX_SAFE_INTEGER;
      await store.commit(claimOf("a", { seat: { lane: "lane1", seq: most }, settled: most - 1 }), () =>
        ran(1),
      );
      expect((await find("a", "lane1")).watermark).toBe(most - 1);
    });

    it("purges calls an hour after their time, in slices, and never before", async () => {
      for (const id of ["a", "b", "c"]) await store.commit(claimOf(id), () => ran(1));
      await clock.advance(callKeepMs + hourMs);
      expect(await store.purge(10)).toBe(0);
      await store.commit(claimOf("d"), () => ran(1));
      await clock.advance(1);
      expect(await store.purge(2)).toBe(2);
      expect(await store.purge(2)).toBe(1);
      expect(await store.purge(2)).toBe(0);
      const left = await Promise.all(["a", "b", "c", "d"].map((id) => find(id)));
      expect(left.map(({ kept }) => kept !== undefined)).toEqual([false, false, false, true]);
    });

    it("keeps a lane as long as its last call could come late, and then no longer", async () => {
      await store.commit(onLane(2, 1), () => ran(1));
      await clock.advance(callKeepMs);
      expect(await store.purge(10)).toBe(0);
      expect((await find("call1", "lane1")).watermark).toBe(1);
      await clock.advance(hourMs + 1);
      await store.purge(10);
      expect((await find("call1", "lane1")).watermark).toBe(0);
    });

    it("may be purged while a call of an old lane runs", async () => {
      await store.commit(onLane(1, 0), () => ran(1));
      await clock.advance(callKeepMs + hourMs + 1);
      await store.commit(onLane(3, 2), () => ran(3));
      await store.purge(10);
      expect(await find("call3", "lane1")).toMatchObject({ watermark: 2, kept: { outcome: ran(3) } });
    });

    it("says what it is", () => {
      expect(store.facts.epoch).toMatch(/^[A-Za-z0-9_-]{8,}$/);
      expect(store.facts.secret.length).toBe(32);
      expect(store.facts.keepMs).toBe(callKeepMs);
      expect(store.facts.completeSinceMs).toBeLessThanOrEqual(clock.now());
    });

    it("lets a call that is first sent as it opens run", async () => {
      expect((await find("a")).forgottenBeforeMs).toBeLessThanOrEqual(clock.now());
    });

    it("refuses what is asked after its close, with an error of its own", async () => {
      await store.close();
      await store.close();
      await expect(find("a")).rejects.toBeInstanceOf(StoreError);
      await expect(store.commit(claimOf("a"), () => ran(1))).rejects.toBeInstanceOf(StoreError);
      await expect(store.write(() => 1)).rejects.toBeInstanceOf(StoreError);
      await expect(store.purge(1)).rejects.toBeInstanceOf(StoreError);
    });
  });
}
