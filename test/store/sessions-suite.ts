/** What the sessions of every store must do. A store's own test calls it with how to open one. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { KeptSession } from "../../server/store/kept-sessions.ts";
import type { Store } from "../../server/store/store.ts";
import { claimOf, ran, type StoreUnderTest } from "./store-suite.ts";

/** A session of Ada's, with what a test changes. */
export function sessionOf(id: string, changes: Partial<KeptSession> = {}): KeptSession {
  return {
    id,
    space: "by ada",
    name: "laptop",
    quota: "by ada",
    by: "ada",
    grants: ["editor", "reader"],
    beganAtMs: 1_000,
    ...changes,
  };
}

export function sessionsSuite(name: string, open: (clock: VirtualClock) => Promise<StoreUnderTest>): void {
  describe(`the sessions of ${name}`, () => {
    let opened: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      opened = await open(virtualClock());
      store = opened.store;
    });
    afterEach(async () => {
      await store.close();
      await opened.cleanUp();
    });

    it("are none at first", async () => {
      expect(await store.sessions.list()).toEqual([]);
    });

    it("are given back as they began", async () => {
      const anonymous = {
        space: "anon x",
        quota: "address ::1",
        by: undefined,
        grants: [],
        beganAtMs: 2_000,
      };
      const sessions = [sessionOf("a"), sessionOf("b", { name: 'no "plain" näme', ...anonymous })];
      for (const session of sessions) await store.sessions.begin(session);
      await store.sessions.begin(sessionOf("a"));
      expect(await store.sessions.list()).toEqual(sessions);
    });

    it("end together with what their end writes, whose value is handed on", async () => {
      await store.sessions.begin(sessionOf("a"));
      await store.sessions.begin(sessionOf("b"));
      expect(await store.sessions.end("a", () => 7)).toBe(7);
      expect((await store.sessions.list()).map(({ id }) => id)).toEqual(["b"]);
    });

    it("do not end when what their end writes throws, and hand on that very error", async () => {
      const no = new Error("no");
      await store.sessions.begin(sessionOf("a"));
      const end = store.sessions.end("a", () => {
        throw no;
      });
      await expect(end).rejects.toBe(no);
      expect(await store.sessions.list()).toHaveLength(1);
    });

    it("are durable no later than a call that is kept after them", async () => {
      const order: string[] = [];
      const begin = store.sessions.begin(sessionOf("a")).then(() => order.push("session"));
      const call = store.commit(claimOf("a"), () => ran(1)).then(() => order.push("call"));
      await Promise.all([begin, call]);
      expect(order).toEqual(["session", "call"]);
    });
  });
}
