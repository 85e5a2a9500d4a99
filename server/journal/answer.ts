/**
 * What goes into the journal and what comes out of it: the seam between whoever brings a request (HTTP, a
 * wire) and the part that runs it once.
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import type { Stop } from "../../runtime/base/late-signal.ts";
import type { Mark } from "../../runtime/base/reasons.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import type { CallHeader } from "../../runtime/call/headers.ts";

/** In whose name a call is kept. */
export interface CallerKey {
  /** One space of call IDs: an authenticated caller, one anonymous link, or all plain anonymous clients. */
  readonly space: string;
  /** What its quotas count: the caller, or for anonymous ones the address. */
  readonly quota: string;
  /** The opaque tag that the client sends back with later tries of this call. */
  readonly tag: string;
}

/** One arrival of a command. */
export interface Attempt {
  readonly definition: CommandDefinition;
  readonly request: Message;
  readonly caller: CallerKey;
  /** The tag that the client was given with an earlier answer to this call; undefined at its first try. */
  readonly expectedTag: string | undefined;
  readonly call: CallHeader;
  /**
   * The server's wall time in ms at which the try arrived, before it waited for its turn or its body; a first
   * sending that is told as an age counts from it. Absent: now.
   */
  readonly arrivedAtMs?: number;
  /** Part of what the request is compared by: the object's params for a method of an object. */
  readonly scope: string;
  /** Whether the handler may run again after a run of which nobody knows how it ended. Absent: false. */
  readonly rerun?: boolean;
  /** Aborts when this try waits no longer. It ends the wait, never the work. */
  readonly waiting: Stop;
  /** Called when the try meets a run of its own call, and waits for that: its work will not begin. */
  readonly joined?: () => void;
}

/** What a run of a handler gets from the journal. */
export interface Running {
  /** Aborts at the handler's limit and at the end of a drain. */
  readonly signal: AbortSignal;
  /** Whether an earlier run may have had effects outside the store. */
  readonly mayHaveRun: boolean;
  /**
   * To be awaited right before the handler starts, when nothing can stop it any more: makes the claim of a
   * method with effects elsewhere durable. When it rejects the handler must not start.
   */
  begin(): Soon<void>;
  /**
   * Keeps a reply and what is written through `tx` as one. Once a run; resolves with the reply when it is
   * durable.
   */
  transaction(write: (tx: unknown) => Message | Promise<Message>): Promise<Message>;
}

/**
 * Runs the handler: called at most once for a call, and if at all then before the try is answered. What it
 * takes (a place in admission) it holds until it ends, which may be long after the answer.
 */
export type Work = (run: Running) => Soon<Message>;

/** What a try of a command is answered with. */
export interface Answer {
  readonly mark: Mark;
  /** Whether the answer was kept from an earlier try. */
  readonly repeat: boolean;
  readonly result: { readonly reply: Message } | { readonly error: ConnectError };
}

/** Runs each command once. */
export interface Journal {
  /**
   * Neither throws nor rejects: every way to end is an answer with its mark. It is there at once when the work's
   * result is, and the store does what it is asked at once.
   */
  run(attempt: Attempt, work: Work): Soon<Answer>;
  /** What a run without a call ID writes through: nothing is kept of it. */
  unkept(definition: CommandDefinition): Pick<Running, "begin" | "transaction">;
  /** How many handlers run now. */
  readonly runningCount: number;
  /** Aborts the signals of all handlers that run: the last seconds of a drain. */
  abortRunning(): void;
  /** Resolves when no handler runs. */
  idle(): Promise<void>;
}
