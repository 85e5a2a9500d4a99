/** The suite that every store of an outbox passes. */
import { describe, expect, it } from "vitest";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";

const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

/** @param make - a fresh place; each call of what it gives opens the same place once more. */
export function outboxStoreSuite(name: string, make: () => Promise<() => OutboxStore>): void {
  describe(name, () => {
    it("gives back what was put, under its name, in place of what was there", async () => {
      const store = (await make())();
      await store.put("a", bytes(1, 2, 3));
      await store.put("b", bytes());
      await store.put("a", bytes(4));
      expect(await store.read("a")).toEqual({ kind: "whole", bytes: bytes(4) });
      expect(await store.read("b")).toEqual({ kind: "whole", bytes: bytes() });
      const listed = [...(await store.list())].sort((a, b) => (a.name < b.name ? -1 : 1));
      expect(listed).toEqual([
        { name: "a", sizeBytes: 1 },
        { name: "b", sizeBytes: 0 },
      ]);
    });

    it("shows everything to who opens the same place", async () => {
      const open = await make();
      await open().put("a", bytes(1));
      expect(await open().list()).toHaveLength(1);
      await open().drop("a");
      expect(await open().list()).toEqual([]);
    });

    it("is empty before the first put, and says gone of what is not there", async () => {
      const store = (await make())();
      expect(await store.list()).toEqual([]);
      expect(await store.read("a")).toEqual({ kind: "gone" });
      await store.drop("a");
    });

    it("moves an entry aside, out of the list", async () => {
      const store = (await make())();
      await store.put("a", bytes(1));
      expect(await store.aside("a")).toContain("a");
      expect(await store.list()).toEqual([]);
      expect(await store.read("a")).toEqual({ kind: "gone" });
    });

    it("keeps its own copy of the bytes", async () => {
      const store = (await make())();
      const given = bytes(1);
      await store.put("a", given);
      given[0] = 9;
      expect(await store.read("a")).toEqual({ kind: "whole", bytes: bytes(1) });
    });

    it("lets one hold the lock at a time, and the next one when it is given back", async () => {
      const open = await make();
      const first = await open().lock();
      expect(first).toBeDefined();
      expect(await open().lock()).toBeUndefined();
      await first?.release();
      const second = await open().lock();
      expect(second).toBeDefined();
      // Given back twice, it frees nobody else's.
      await first?.release();
      expect(await open().lock()).toBeUndefined();
      await second?.release();
    });

    it("may be read and written while somebody holds the lock", async () => {
      const open = await make();
      const lease = await open().lock();
      await open().put("a", bytes(1));
      expect(await open().list()).toHaveLength(1);
      await lease?.release();
    });
  });
}
