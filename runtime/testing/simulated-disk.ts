/**
 * A disk in virtual time for a server's store: a commit becomes durable at an instant of its own, may fail before or
 * after it, and a server that dies in between finds exactly what was durable. The store itself stays the test's;
 * the disk stands in front of its writes, one at a time, as one writer or a lock would.
 */
import type { Clock } from "../base/clock.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** What happens to one write. */
export interface DiskFate {
  /** Ms from the decision to the instant at which the write is durable. Default 1. */
  readonly durableMs?: number;
  /** Ms from there until its process hears of it. Default 1. */
  readonly heardMs?: number;
  /** It fails: nothing of it stands (`before`), or all of it does and the process cannot know (`after`). */
  readonly fail?: "before" | "after";
}

export interface SimulatedDiskOptions {
  readonly clock: Clock;
  /** Default: nothing bad. */
  readonly fate?: () => DiskFate;
  /** Ms that a look at what is kept (`find`) takes until its process hears of it. Default: none. */
  readonly readMs?: () => number;
  /** The error of a write that fails. Default: an Error. */
  readonly error?: (fail: "before" | "after") => Error;
}

/** What a disk stands in front of. `decide` runs inside the write; what it resolves with is kept. */
export interface StoreOnDisk {
  // A store's own methods are narrower; the disk hands their arguments on as they are.
  commit(claim: never, decide: never): Promise<unknown>;
  write(work: never): Promise<unknown>;
}

export interface SimulatedDisk {
  /**
   * The store as one server's process has it. Its transactions must be allowed to take time
   * (`facts.synchronous: false`), as those of `memoryStore` are.
   */
  open<Store extends StoreOnDisk>(store: Store, process: SimulatedProcess): Store;
  /** Writes that are durable. */
  readonly durableCount: number;
}

type Work = (tx: unknown) => unknown;

class Disk implements SimulatedDisk {
  durableCount = 0;
  readonly #clock: Clock;
  readonly #fate: () => DiskFate;
  readonly #readMs: () => number;
  readonly #error: (fail: "before" | "after") => Error;
  /** Resolves when the last write that was asked for is over. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: SimulatedDiskOptions) {
    this.#clock = options.clock;
    this.#fate = options.fate ?? (() => ({}));
    this.#readMs = options.readMs ?? (() => 0);
    this.#error =
      options.error ?? ((fail) => new Error(`simulated: the write failed ${fail} it was durable`));
  }

  open<Store extends StoreOnDisk>(store: Store, process: SimulatedProcess): Store {
    const inner = store as unknown as Record<"commit" | "write", (...args: unknown[]) => Promise<unknown>>;
    const commit = (claim: unknown, decide: Work): Promise<unknown> =>
      this.#write(process, decide, (work) => inner.commit.call(store, claim, work));
    const write = (work: Work): Promise<unknown> =>
      this.#write(process, work, (its) => inner.write.call(store, its));
    return new Proxy(store, {
      get: (target, name) => {
        if (name === "commit") return commit;
        if (name === "write") return write;
        if (name === "atOnce") return undefined; // a disk keeps nothing without a wait
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const result: unknown = value.apply(target, args);
          if (!(result instanceof Promise)) return result;
          return process.hold(name === "find" ? this.#late(result) : result);
        };
      },
    });
  }

  #write(process: SimulatedProcess, work: Work, begin: (work: Work) => Promise<unknown>): Promise<unknown> {
    const before = this.#turn;
    let over: () => void = () => undefined;
    this.#turn = new Promise((resolve) => {
      over = resolve;
    });
    // A dead process holds no lock.
    process.onDeath(() => void before.then(over));
    const run = async (): Promise<unknown> => {
      await process.hold(before);
      const { durableMs = 1, heardMs = 1, fail } = this.#fate();
      try {
        const result = await begin(async (tx) => {
          const decided = await work(tx);
          await process.hold(this.#wait(durableMs));
          if (fail === "before") throw this.#error(fail);
          this.durableCount += 1;
          return decided;
        });
        await process.hold(this.#wait(heardMs));
        if (fail === "after") throw this.#error(fail);
        return result;
      } finally {
        over();
      }
    };
    return run();
  }

  async #late(looked: Promise<unknown>): Promise<unknown> {
    const found = await looked;
    const readMs = this.#readMs();
    if (readMs > 0) await this.#wait(readMs);
    return found;
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.timer(ms, resolve);
    });
  }
}

/** Makes a disk. */
export function simulatedDisk(options: SimulatedDiskOptions): SimulatedDisk {
  return new Disk(options);
}
