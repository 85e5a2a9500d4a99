/** One connection of a simulated network: what is under way on it, and whether it arrives. */
import type { Clock } from "../base/clock.ts";
import type { Host } from "./simulated-host.ts";

/** How a process is off the network. */
export type Block = "drop" | "hold";

/** What runs on a connection, and ends with it. */
export interface Carried {
  cut(why: string): void;
}

export class Connection {
  host: Host | undefined;
  readonly carried = new Set<Carried>();
  readonly #clock: Clock;
  /** Packets vanish for good, or wait. */
  #silent: boolean;
  #held: (() => void)[] | undefined;
  #ended = false;

  constructor(clock: Clock, block: Block | undefined) {
    this.#clock = clock;
    this.#silent = block === "drop";
    this.#held = block === "hold" ? [] : undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether nothing arrives on it any more, and nobody says so. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Nothing arrives from here on: a half-open connection. */
  silence(): void {
    this.#silent = true;
  }

  block(how: Block): void {
    if (how === "drop") this.#silent = true;
    else this.#held ??= [];
  }

  unblock(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const arrive of held ?? []) arrive();
  }

  /** Carries a packet either way, unless the connection is gone or silent by then. */
  carry(delayMs: number, arrive: () => void): void {
    if (this.#silent) return;
    this.#clock.timer(delayMs, () => {
      if (this.#silent || this.#ended) return;
      if (this.#held === undefined) arrive();
      else this.#held.push(arrive);
    });
  }

  /** Ends it, with all that is under way on it. */
  end(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held = undefined;
    for (const each of [...this.carried]) each.cut(why);
  }
}
