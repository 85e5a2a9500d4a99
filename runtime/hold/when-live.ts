/**
 * Waits for a reference to be live: what `get` is beside `hold`. One deadline counts, from the moment of the call,
 * across attempts and drops.
 *
 * Source: design "Held objects: hold and get".
 */
import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { HoldfastError } from "../base/errors.ts";
import { reasonError } from "../base/errors.ts";
import { liveError } from "../base/live-reasons.ts";
import type { ReferenceState } from "../base/objects.ts";
import type { Stop } from "../base/late-signal.ts";
import { onAbort } from "../base/signals.ts";
import type { ReferenceCore } from "./reference.ts";

export interface WhenLiveOptions {
  readonly clock: Clock;
  readonly readyTimeoutMs: number;
  /** Any of them that aborts ends the wait. */
  readonly signals: readonly (Stop | undefined)[];
  /** A drop rejects too: for an object that waits for what it depends on, which tries again by itself. */
  readonly failsOnDrop?: boolean;
}

/**
 * Resolves when the reference is live. In every other case whoever waits releases the reference.
 *
 * @throws HoldfastError the cause of a broken failure at once; at the deadline the last cause, or PARK_TIMEOUT; when
 * the signal aborts ABORTED; RELEASED when somebody released it.
 */
export function whenLive(core: ReferenceCore, options: WhenLiveOptions): Promise<void> {
  const gone = options.signals.find((signal) => signal?.aborted === true);
  if (gone !== undefined) return Promise.reject(aborted(gone.reason));
  return new Promise((resolve, reject) => {
    let lastCause: HoldfastError | undefined;
    let over = false;
    const finish = (error: Error | undefined): void => {
      if (over) return;
      over = true;
      timer.cancel();
      unwatch();
      for (const forget of forgets) forget();
      if (error === undefined) resolve();
      else reject(error);
    };
    const look = (state: ReferenceState): void => {
      if (state.kind === "live") finish(undefined);
      else if (state.kind === "released") finish(liveError("RELEASED"));
      else if (state.kind === "failed") {
        lastCause = state.cause;
        if (state.retryAt === undefined) finish(state.cause);
      }
    };
    const timer = options.clock.timer(options.readyTimeoutMs, () =>
      finish(lastCause ?? notInTime(core, options.readyTimeoutMs)),
    );
    const unwatch = core.watch({
      stateChanged: look,
      dropped: (cause) => {
        if (options.failsOnDrop === true) finish(ConnectError.from(cause));
      },
    });
    const forgets = options.signals.map((signal) => onAbort(signal, (reason) => finish(aborted(reason))));
    look(core.state);
  });
}

function aborted(reason: unknown): HoldfastError {
  return reasonError("ABORTED", undefined, { cause: reason });
}

function notInTime(core: ReferenceCore, readyTimeoutMs: number): HoldfastError {
  const trouble = core.trouble();
  const text = `the object was not live inside ${readyTimeoutMs} ms`;
  return liveError("PARK_TIMEOUT", trouble === undefined ? text : `${text}: ${trouble}`);
}
