/**
 * The outbox for programs in a browser, which bring it along when they want it: a page without one does not load
 * its code.
 */
import type { OutboxHome } from "../link/platform.ts";
import { Outbox } from "../outbox/outbox.ts";
import { indexedDbStore } from "./indexeddb-outbox.ts";

/** What stands in for the browser's own; for tests. */
export interface IndexedDbOutboxParts {
  /** Default: the global `indexedDB`. */
  readonly databases?: IDBFactory;
  /** Default: `navigator.locks`. */
  readonly locks?: LockManager;
}

let standard: OutboxHome | undefined;

/**
 * Outboxes in the browser's database, for the option `outbox.store` of `linkOf`. Tabs and workers of one origin
 * share them; one at a time sends.
 *
 * @throws TypeError where there is no IndexedDB or no Web Locks, such as on a page that is neither of https nor of
 * localhost.
 */
export function indexedDbOutbox(parts?: IndexedDbOutboxParts): OutboxHome {
  // The same each time, so that a link that is asked for again is found to have the same options.
  if (parts === undefined) return (standard ??= home({}));
  return home(parts);
}

function home(parts: IndexedDbOutboxParts): OutboxHome {
  const databases = parts.databases ?? (globalThis as Partial<typeof globalThis>).indexedDB;
  const locks = parts.locks ?? (globalThis.navigator as Partial<Navigator> | undefined)?.locks;
  if (databases === undefined || locks === undefined) {
    throw new TypeError(
      `indexedDbOutbox: there ${databases === undefined ? "is no IndexedDB" : "are no Web Locks"} here. Call it in ` +
        "a browser, on a page of https or localhost; in Node leave it out, and files are kept.",
    );
  }
  return {
    storeOf: ({ server, account }) => indexedDbStore({ place: `${server}\n${account}`, databases, locks }),
    open: (parts) => new Outbox(parts),
  };
}
