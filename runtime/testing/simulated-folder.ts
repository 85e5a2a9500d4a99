/**
 * The folder of an outbox, shared by the simulated processes of one person: entries are durable at an instant of
 * their own, writes may fail, and the lock of a process that died is free a while later.
 */
import type { Clock } from "../base/clock.ts";
import type { OutboxLease, OutboxStore } from "../outbox/outbox-store.ts";
import type { DiskFate } from "./simulated-disk.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

export interface SimulatedFolderOptions {
  readonly clock: Clock;
  /** What happens to a put or a drop. Default: nothing bad. */
  readonly fate?: () => DiskFate;
  /** Whether everybody gets the lock who asks for it. Default false. */
  readonly brokenLock?: boolean;
}

export interface SimulatedFolder {
  /** The store as one process has it. */
  open(process: SimulatedProcess): OutboxStore;
  /** Takes the lock away from whoever holds it, as from a process that was stopped for too long. */
  loseLock(): void;
  /** The names of what is durable. */
  readonly names: readonly string[];
}

/** After this the lock of a dead process is free. */
const staleLockMs = 10_000;

interface Lock {
  readonly process: SimulatedProcess;
  readonly lost: AbortController;
}

class Folder implements SimulatedFolder {
  readonly #options: SimulatedFolderOptions;
  readonly #files = new Map<string, Uint8Array>();
  readonly #aside = new Map<string, Uint8Array>();
  #lock: Lock | undefined;

  constructor(options: SimulatedFolderOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#files.keys()].sort();
  }

  open(process: SimulatedProcess): OutboxStore {
    const hold = <T>(value: T): Promise<T> => process.hold(Promise.resolve(value));
    const change = (act: () => void): Promise<void> => this.#change(process, act);
    return {
      list: () => hold([...this.#files].map(([name, { byteLength }]) => ({ name, sizeBytes: byteLength }))),
      read: (name) => {
        const bytes = this.#files.get(name);
        return hold(bytes === undefined ? { kind: "gone" } : { kind: "whole", bytes: bytes.slice() });
      },
      put: (name, bytes) => {
        const copy = bytes.slice();
        return change(() => void this.#files.set(name, copy));
      },
      drop: (name) => change(() => void this.#files.delete(name)),
      aside: async (name) => {
        await change(() => {
          const bytes = this.#files.get(name);
          if (bytes !== undefined) this.#aside.set(name, bytes);
          this.#files.delete(name);
        });
        return `${name} aside`;
      },
      lock: () => hold(this.#take(process)),
    };
  }

  loseLock(): void {
    const lock = this.#lock;
    this.#lock = undefined;
    lock?.process.run(() => lock.lost.abort());
  }

  async #change(process: SimulatedProcess, act: () => void): Promise<void> {
    const { durableMs = 1, heardMs = 1, fail } = this.#options.fate?.() ?? {};
    await process.hold(this.#wait(durableMs));
    if (fail === "before") throw new Error("simulated: no space left on device");
    act();
    await process.hold(this.#wait(heardMs));
  }

  #take(process: SimulatedProcess): OutboxLease | undefined {
    if (this.#lock !== undefined && this.#options.brokenLock !== true) return undefined;
    const lock: Lock = { process, lost: new AbortController() };
    this.#lock = lock;
    const free = (): void => {
      if (this.#lock === lock) this.#lock = undefined;
    };
    process.onDeath(() => this.#options.clock.timer(staleLockMs, free));
    return { lost: lock.lost.signal, release: async () => free() };
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.timer(ms, resolve);
    });
  }
}

/** Makes a folder. */
export function simulatedFolder(options: SimulatedFolderOptions): SimulatedFolder {
  return new Folder(options);
}
