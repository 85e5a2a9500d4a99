/**
 * Every default with its unit and its reason, and the relations between them, which are asserted when the
 * file loads. A link or a server overrides them by option; nothing else in the sources names such a number.
 *
 * Source: design "Calls: Constants", "Streams", "Held objects", "Server".
 */

/** The waits and budgets of a link, in ms. */
export interface Timing {
  /** The most time for one try. Default 10 s: longer than any healthy reply, a third of the budget. */
  readonly tryWaitMs: number;
  /** The most time to connect. Default 5 s: a handshake over the worst mobile network. */
  readonly connectWaitMs: number;
  /** The wait before the first new try. Default 250 ms. */
  readonly firstWaitMs: number;
  /** What the waits grow to. Default 5 s: a server that is back is found within it. */
  readonly waitMsMost: number;
  /** The deadline of a call whose method names none. Default 30 s. */
  readonly budgetMs: number;
  /** The same for signals and for calls made with `short`. Default 10 s. */
  readonly shortBudgetMs: number;
  /** A command-line program shows that the link is down after this. Default 1 s. */
  readonly lineAfterMs: number;
}

export const defaultTiming: Timing = {
  tryWaitMs: 10_000,
  connectWaitMs: 5_000,
  firstWaitMs: 250,
  waitMsMost: 5_000,
  budgetMs: 30_000,
  shortBudgetMs: 10_000,
  lineAfterMs: 1_000,
};

/** A try of a method with a longer handler limit lasts that limit and this: the way there and back. */
export const tryBeyondHandlerMs: number = 2_000;

/** Nothing that may go on without us (Connect, a timer of the system) is handed more than this. */
export const foreignTimeoutMsMost = 2 ** 31 - 1;

// The gate: one prober for a link without a connection (design "No storms").

/** The waits of the prober grow to this while a call with a budget waits. */
export const probeWaitMsMost = 2_000;
/** And to this when nobody waits. */
export const idleProbeWaitMsMost = 30_000;
/** Signs of life (online, a tab shown, a new call) probe at once, at most once in this. */
export const promptProbeEveryMs = 1_000;
/** A gate that opens lets this many calls go, then waits for `gateSliceEveryMs`. */
export const gateSliceCount = 32;
export const gateSliceEveryMs = 50;

// The retry budget after server faults: it delays, and never fails a call early.

export const retryTokensMost = 20;
export const retryTokensPerSecond = 1;
/** The first wait after an answer that says "too much" (429, resource_exhausted). */
export const throttledFirstWaitMs = 1_000;

// Call IDs and the journal.

/** How long the server keeps a call, from the end of its run. */
export const callKeepMs = 24 * 3_600_000;
/** How long an outbox may still send one: an hour less, for clocks that differ. */
export const outboxKeepMs = 23 * 3_600_000;
/** Entries of one outbox: more is no outage any more, and a list that nobody reads. */
export const outboxCountMost = 1_000;
/** Bytes of one outbox, and of one entry in it: what a server takes as one request. */
export const outboxBytesMost: number = 64 * 1_048_576;
export const outboxEntryBytesMost: number = 4 * 1_048_576;
/** A call looks for entries of other processes at most once in this. */
export const outboxScanEveryMs = 1_000;
/** Between two looks whether another process has given the outbox's lock back. */
export const outboxLockEveryMs = 250;
/** The note of how an entry ended waits this long for the process that made it. */
export const outboxEndingKeepMs = 3_600_000;
/** A tombstone of a command that is sent at most once: longer than any proxy repeats. */
export const atMostOnceKeepMs = 10 * 60_000;
/** A server time that a client knows (its ticket) is used this long; clocks drift apart. */
export const ticketKeepMs = 3_600_000;
/** What a ticket of that age may be off by; the client takes its share off. */
export const ticketMarginMs = 2_000;
/** A first-sent time further in the future than this is refused: the client's clock is broken. */
export const firstSentAheadMsMost = 5 * 60_000;
/** Commands of one link under way at once; more wait. */
export const inFlightCountMost = 2_048;
/** The most time that a command's handler may take. */
export const handlerMostMs = 60_000;
/** After a drain's deadline, handlers get this long with their signal aborted. */
export const drainSignalMs = 5_000;
/** Tries of one call that may wait for its outcome at once; an older one is superseded. */
export const waitersPerCallMost = 4;

// Streams, sessions, held objects.

/** The server gives a sign on a quiet stream after this. */
export const signMs: number = 15_000;
/** A stream without a byte for this long is given up: three signs. */
export const streamIdleMs = 45_000;
export const streamRetryMs = 1_000;
/** The server ends streams and wires itself at this age, ±10 %, before a platform does. */
export const streamAgeMs = 50 * 60_000;
export const aliveEveryMs: number = 30_000;
export const goneAfterMs: number = 180_000;
export const readyTimeoutMs = 60_000;
export const lingerMs = 0;
/** A failed object tries again after this; the wait doubles up to the second number. */
export const retryWindowFirstMs = 250;
export const retryWindowMsMost = 30_000;
/** Calls that wait on one reference for its object; more is a program that does not look at its errors. */
export const parkedCountMost = 2_048;
/** Items that a topic keeps, and that may wait for one follower. */
export const keepCount: number = 1_024;
export const roomCount: number = 256;

/** Throws when two numbers do not fit together; the text is the relation. */
function holds(relation: boolean, text: string): void {
  if (!relation) throw new RangeError(`holdfast: these settings do not fit together: ${text}`);
}

/**
 * Checks a link's waits and budgets: each a number above zero, and in the order that they need.
 *
 * @throws RangeError naming the relation that does not hold.
 */
export function assertTiming(timing: Timing): void {
  for (const [name, value] of Object.entries(timing)) {
    holds(value > 0, `${name} is ${String(value)}, it must be a number of ms above zero`);
  }
  holds(
    timing.connectWaitMs <= timing.tryWaitMs,
    "connectWaitMs <= tryWaitMs, or a try ends while it connects",
  );
  holds(timing.firstWaitMs <= timing.waitMsMost, "firstWaitMs <= waitMsMost");
}

assertTiming(defaultTiming);
holds(outboxKeepMs < callKeepMs, "outboxKeep < callKeep, or the outbox sends what the server has forgotten");
holds(outboxEntryBytesMost <= outboxBytesMost, "outboxEntryBytes <= outboxBytes");
holds(streamIdleMs === 3 * signMs, "streamIdle = 3 signs");
holds(roomCount <= keepCount / 2, "room <= keep / 2, or a reader that lags always loses items");
holds(goneAfterMs > aliveEveryMs, "goneAfter > aliveEvery");
holds(tryBeyondHandlerMs > 0, "a try outlasts its handler");
