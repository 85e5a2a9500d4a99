/**
 * An abort signal that is made when somebody looks at it: most handlers never do, and a signal with its controller
 * costs more time and memory than all else of a small call. Who only wants to know when it aborts listens here.
 */

/** What tells that somebody waits no longer: an AbortSignal does, and a {@link LateSignal}. */
export interface Stop {
  readonly aborted: boolean;
  readonly reason: unknown;
  /** @throws the reason, once it has aborted. */
  throwIfAborted(): void;
  addEventListener(type: "abort", fn: () => void): void;
  removeEventListener(type: "abort", fn: () => void): void;
}

export class LateSignal implements Stop {
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;
  #listeners: (() => void)[] | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** Twice is once. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    // One by one: a listener may forget another one.
    for (let fn = this.#listeners?.shift(); fn !== undefined; fn = this.#listeners?.shift()) fn();
  }

  /** Calls `fn` when it aborts; not when it has. */
  addEventListener(_type: "abort", fn: () => void): void {
    if (this.#aborted) return;
    this.#listeners ??= [];
    this.#listeners.push(fn);
  }

  removeEventListener(_type: "abort", fn: () => void): void {
    const at = this.#listeners?.indexOf(fn) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }
}

/** The same for whoever takes nothing but a platform's own signal. */
export function abortSignalOf(stop: Stop): AbortSignal {
  return stop instanceof LateSignal ? stop.signal : (stop as AbortSignal);
}
