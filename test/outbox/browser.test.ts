/** The outbox of a browser: its store over a double of IndexedDB, its lock over one of Web Locks, and two tabs. */
import "fake-indexeddb/auto";
import { IDBFactory } from "fake-indexeddb";
import { createServer as serve } from "../../server/index.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import type { Link } from "../../runtime/link/link.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import { linkOf, type WebLinkOptions, webPlatform } from "../../runtime/web/index.ts";
import { indexedDbOutbox } from "../../runtime/web/outbox.ts";
import { memoryStore } from "../../server/index.ts";
import { bundleForBrowsers } from "../../scripts/browser-bundle.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { tallyHandlers } from "../support/tally-server.ts";
import { outboxStoreSuite } from "./outbox-store-suite.ts";
import { FakeLocks } from "./web-locks.ts";

interface Place {
  readonly server: string;
  readonly account: string;
}

const ann: Place = { server: "http://board.test", account: "ann" };

/** One browser: each call opens a tab of it. */
function browser() {
  const databases = new IDBFactory();
  const locks = new FakeLocks();
  return (place = ann) => {
    const tab = locks.tab();
    const store = indexedDbOutbox({ databases, locks: tab.locks }).storeOf(place);
    return {
      store,
      close: () => tab.close(),
      home: indexedDbOutbox({ databases, locks: tab.locks }),
      databases,
    };
  };
}

outboxStoreSuite("an outbox in IndexedDB", async () => {
  const open = browser();
  return () => open().store;
});

describe("a browser's database", () => {
  const bytes = Uint8Array.of(1, 2);
  const names = async (store: OutboxStore) => (await store.list()).map(({ name }) => name);

  it("keeps the outboxes of two accounts and two servers apart", async () => {
    const open = browser();
    const places = [ann, { ...ann, account: "ben" }, { ...ann, server: "http://board.tes" }];
    for (const [index, place] of places.entries()) await open(place).store.put(`e${index}`, bytes);
    for (const [index, place] of places.entries()) {
      expect(await names(open(place).store)).toEqual([`e${index}`]);
      expect((await open(place).store.lock())?.lost.aborted).toBe(false);
    }
  });

  it("asks for each write to be on the disk before it is called complete", async () => {
    const { store } = browser()();
    await store.list();
    const begun = vi.spyOn(IDBDatabase.prototype, "transaction");
    await store.put("a", bytes);
    await store.drop("a");
    for (const [, mode, options] of begun.mock.calls) {
      expect([mode, options]).toEqual(["readwrite", { durability: "strict" }]);
    }
    expect(begun).toHaveBeenCalledTimes(2);
    begun.mockRestore();
  });

  it("that is full rejects the write, and what was there before is there still", async () => {
    const { store } = browser()();
    await store.put("a", bytes);
    const full = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(function (
      this: IDBObjectStore,
    ) {
      this.transaction.abort();
      return {} as IDBRequest<IDBValidKey>;
    });
    await expect(store.put("a", Uint8Array.of(9))).rejects.toThrow();
    full.mockRestore();
    expect(await store.read("a")).toEqual({ kind: "whole", bytes });
  });

  it("that the browser has closed is opened again", async () => {
    const { store, databases } = browser()();
    await store.put("a", bytes);
    const gone = new Promise((resolve, reject) => {
      const request = databases.open("holdfast-outbox", 2); // a newer program, in another tab
      request.onsuccess = () => {
        request.result.close();
        resolve(undefined);
      };
      request.onerror = () => reject(request.error ?? new Error("no"));
    });
    await gone;
    const again = databases.deleteDatabase("holdfast-outbox");
    await new Promise((resolve) => (again.onsuccess = resolve));
    expect(await names(store)).toEqual([]);
  });

  it("has what was set aside, unchanged", async () => {
    const { store, databases } = browser()();
    await store.put("a", bytes);
    expect(await store.aside("a")).toMatch(/"holdfast-outbox", store "aside", key 1 \(a\)/);
    const opening = databases.open("holdfast-outbox");
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const read = opening.result.transaction("aside").objectStore("aside").getAll();
    await new Promise((resolve) => (read.onsuccess = resolve));
    expect(read.result).toEqual([{ place: "http://board.test\nann", name: "a", bytes }]);
  });
});

describe("the lock of a browser's outbox", () => {
  it("is free when the tab that holds it is closed", async () => {
    const open = browser();
    const first = open();
    await first.store.lock();
    expect(await open().store.lock()).toBeUndefined();
    first.close();
    expect(await open().store.lock()).toBeDefined();
  });

  it("that another tab takes by force is lost, and giving it back then takes it from nobody", async () => {
    const locks = new FakeLocks();
    const tab = locks.tab();
    const store = indexedDbOutbox({ databases: new IDBFactory(), locks: tab.locks }).storeOf(ann);
    const lease = await store.lock();
    const name = "holdfast-outbox http://board.test\nann";
    void locks.tab().locks.request(name, { steal: true }, () => new Promise(() => undefined));
    await new Promise((resolve) => lease?.lost.addEventListener("abort", resolve, { once: true }));
    await lease?.release();
    expect(await store.lock()).toBeUndefined();
  });
});

describe("two tabs", () => {
  it("share what waits: one sends what the other has left, and both hear how it ended", async () => {
    const open = browser();
    const ids: string[] = [];
    const add = (_: unknown, { callId }: { readonly callId?: string | undefined }) => {
      ids.push(callId ?? "");
      return { total: 7n };
    };
    // An hour old: what was sent to nobody before it began is not refused.
    const clock = { ...systemClock, now: () => systemClock.now() - 3_600_000 };
    const store = memoryStore({ clock, random: systemRandom });
    const server = serve({ store }).implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, { add }));
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(() => server.close({ within: 0 }));
    let online = false;
    const through: typeof fetch = (input, init) =>
      online ? fetch(input, init) : Promise.reject(new TypeError("fetch failed"));
    const tab = (): Link => {
      const linkOf = createLinkOf<WebLinkOptions>(webPlatform, ["fetch", "credentials"]);
      const link = linkOf(`http://127.0.0.1:${port}`, {
        fetch: through,
        outbox: { store: open().home, atStart: false },
        timing: { firstWaitMs: 5, waitMsMost: 20 },
      });
      onTestFinished(() => link.close());
      return link;
    };
    const [first, second] = [tab(), tab()];
    const call = first.call({ ...Tally.add, outbox: "early" }, { amount: 1n }, { timeoutMs: 200 });
    const waits: unknown = await call.catch((error: unknown) => error);
    expect(waits).toMatchObject({ outcome: "in-outbox" });
    const callId = waits instanceof HoldfastError ? (waits.callId ?? "") : "";
    const heard = first.outbox.settled(callId);
    online = true;
    expect(await second.outbox.send()).toEqual({ waitingCount: 0, cause: undefined });
    expect(ids).toEqual([callId]);
    await first.outbox.list();
    await first.outbox.send();
    expect(await heard).toMatchObject({ callId, kind: "reply", message: { total: 7n } });
  });
});

describe("a page", () => {
  it("without Web Locks is told so when it asks for an outbox", () => {
    expect(() => indexedDbOutbox({ databases: new IDBFactory() })).toThrow(
      /no Web Locks.*https or localhost/,
    );
  });

  it("that asks for an outbox in no browser is told what to do", () => {
    const locks = new FakeLocks().tab().locks;
    vi.stubGlobal("indexedDB", undefined);
    expect(() => indexedDbOutbox({ locks })).toThrow(/no IndexedDB.*in Node leave it out/);
    vi.unstubAllGlobals();
  });

  it("gets the same link again with the same outbox", async () => {
    vi.stubGlobal("navigator", { locks: new FakeLocks().tab().locks });
    const options = () => ({ outbox: { store: indexedDbOutbox(), atStart: false } });
    const link = linkOf("http://board.test", options());
    expect(linkOf("http://board.test", options())).toBe(link);
    await link.close();
    vi.unstubAllGlobals();
  });

  it("loads the outbox's code only when it asks for it", async () => {
    const partsOf = async (entry: string) => (await bundleForBrowsers(entry)).parts.map(({ path }) => path);
    const without = await partsOf('export { linkOf } from "holdfast"');
    const within = await partsOf('export { linkOf } from "holdfast"; export * from "holdfast/web/outbox"');
    const ofOutbox = (path: string): boolean =>
      /runtime\/(outbox\/outbox|web\/indexeddb-outbox)\.ts$/.test(path);
    expect(without.filter(ofOutbox)).toEqual([]);
    expect(within.filter(ofOutbox)).toHaveLength(2);
  });
});
