/**
 * An outbox in the browser's own database, shared by all tabs and workers of one origin. An entry's name and size
 * lie apart from its bytes, since the outbox lists often and reads seldom.
 *
 * Who may send is decided by a Web Lock: the browser gives it back by itself when its tab is closed or has
 * crashed, so no age of a sign has to be judged.
 *
 * Source: design "The outbox"; reliability decisions D30, D31, D37.
 */
import type { OutboxLease, OutboxStore, StoredBytes, StoredName } from "../outbox/outbox-store.ts";

export interface IndexedDbOutboxOptions {
  /** The name of the outbox among others in the database. */
  readonly place: string;
  readonly databases: IDBFactory;
  readonly locks: LockManager;
}

const databaseName = "holdfast-outbox";
/** Of the database's stores, not of what the entries say. */
const databaseVersion = 1;

type StoreName = "names" | "bytes" | "aside";

interface NameRecord extends StoredName {
  readonly place: string;
}

/** The store. Nothing is opened before its first use. */
export function indexedDbStore(options: IndexedDbOutboxOptions): OutboxStore {
  return new IndexedDbOutbox(options);
}

class IndexedDbOutbox implements OutboxStore {
  readonly #options: IndexedDbOutboxOptions;
  #database: Promise<IDBDatabase> | undefined;

  constructor(options: IndexedDbOutboxOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly StoredName[]> {
    const { place } = this.#options;
    // After every text comes a list, by IndexedDB's own order of keys.
    const range = IDBKeyRange.bound([place], [place, []]);
    const transaction = await this.#begin(["names"], "readonly");
    const found: unknown[] = await resultOf(transaction.objectStore("names").getAll(range));
    return (found as NameRecord[]).map(({ name, sizeBytes }) => ({ name, sizeBytes }));
  }

  async read(name: string): Promise<StoredBytes> {
    const transaction = await this.#begin(["bytes"], "readonly");
    const found: unknown = await resultOf(transaction.objectStore("bytes").get(this.#key(name)));
    if (found === undefined) return { kind: "gone" };
    return found instanceof Uint8Array
      ? { kind: "whole", bytes: found }
      : { kind: "damaged", why: "it holds no bytes" };
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    const { place } = this.#options;
    const sizeBytes = bytes.byteLength;
    await this.#write(["names", "bytes"], (transaction) => {
      transaction.objectStore("names").put({ place, name, sizeBytes } satisfies NameRecord);
      // A copy: what is kept of part of a buffer would else be the whole buffer.
      transaction.objectStore("bytes").put(bytes.slice(), this.#key(name));
    });
  }

  async drop(name: string): Promise<void> {
    await this.#write(["names", "bytes"], (transaction) => this.#remove(transaction, name));
  }

  async aside(name: string): Promise<string> {
    let at = 0;
    await this.#write(["names", "bytes", "aside"], (transaction) => {
      const read = transaction.objectStore("bytes").get(this.#key(name));
      read.onsuccess = () => {
        const { place } = this.#options;
        const added = transaction.objectStore("aside").add({ place, name, bytes: read.result as unknown });
        added.onsuccess = () => (at = Number(added.result));
        this.#remove(transaction, name);
      };
    });
    return `the browser's database "${databaseName}", store "aside", key ${at} (${name})`;
  }

  lock(): Promise<OutboxLease | undefined> {
    const { locks, place } = this.#options;
    const lost = new AbortController();
    return new Promise((resolve, reject) => {
      const held = locks.request(`${databaseName} ${place}`, { ifAvailable: true }, (lock) => {
        if (lock === null) {
          resolve(undefined);
          return;
        }
        return new Promise<void>((giveBack) => {
          const release = async (): Promise<void> => {
            giveBack();
            await held.catch(() => undefined);
          };
          resolve({ lost: lost.signal, release });
        });
      });
      held.catch((error: unknown) => {
        lost.abort(error); // another tab has taken it by force
        reject(error instanceof Error ? error : new Error(String(error)));
      });
    });
  }

  #key(name: string): IDBValidKey {
    return [this.#options.place, name];
  }

  #remove(transaction: IDBTransaction, name: string): void {
    for (const store of ["names", "bytes"]) transaction.objectStore(store).delete(this.#key(name));
  }

  /** Resolves when what `work` asks for is on the disk, all of it; rejects when none of it is. */
  async #write(stores: StoreName[], work: (transaction: IDBTransaction) => void): Promise<void> {
    const transaction = await this.#begin(stores, "readwrite");
    const over = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () =>
        reject(transaction.error ?? new Error(`${databaseName}: a write was aborted`));
    });
    over.catch(() => undefined); // awaited below, unless the work throws
    work(transaction);
    await over;
  }

  async #begin(stores: StoreName[], mode: IDBTransactionMode): Promise<IDBTransaction> {
    // Browsers else call a write complete when the system has it, which a power cut takes back.
    const begin = async (): Promise<IDBTransaction> =>
      (await this.#open()).transaction(stores, mode, { durability: "strict" });
    try {
      return await begin();
    } catch (error) {
      // The browser has closed the database, such as when its data was cleared: once more, on a new one.
      if (!(error instanceof Error && error.name === "InvalidStateError")) throw error;
      this.#database = undefined;
      return begin();
    }
  }

  #open(): Promise<IDBDatabase> {
    this.#database ??= openDatabase(this.#options.databases, () => (this.#database = undefined));
    return this.#database;
  }
}

/** @param over - told when the database cannot be used any more, or was never opened. */
async function openDatabase(databases: IDBFactory, over: () => void): Promise<IDBDatabase> {
  const opening = databases.open(databaseName, databaseVersion);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore("names" satisfies StoreName, { keyPath: ["place", "name"] });
    opening.result.createObjectStore("bytes" satisfies StoreName);
    opening.result.createObjectStore("aside" satisfies StoreName, { autoIncrement: true });
  };
  try {
    const database = await resultOf(opening);
    database.onclose = over;
    // A newer version of the program, in another tab, waits until this one lets go.
    database.onversionchange = () => {
      database.close();
      over();
    };
    return database;
  } catch (error) {
    over();
    throw error;
  }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error(`${databaseName}: a request failed`));
  });
}
