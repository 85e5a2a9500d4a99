/**
 * The seam between a reference and what it stands on, the same whether the object lives in this process or behind a
 * wire, so that a program cannot tell which.
 *
 * ```
 *  reference (a Holder) ◀── events ── Holding of a local object            local
 *
 *  reference (a Holder) ◀── events ── holder's side of a wire              remote: the holder's side turns messages
 *                                          ⇅ messages                      into these events, the provider's side
 *                        wire's Holder ◀── events ── Holding of the object turns these events into messages
 * ```
 *
 * Duties of whoever provides
 * - Nothing of the holder is called before `open`; then `bound`, `failed` or `loading`, perhaps at once.
 * - `bound` comes once after `open` and once after each `loading`, never twice without one between.
 * - `changed` comes only while bound, for members of the bound variant, with versions that rise.
 * - A holding that was released calls nothing any more.
 * - The holder may call anything of the holding from inside an event, `release` among it.
 *
 * Duties of the holder
 * - Calls are given only while bound, in the order in which the program made them: after a `bound` first those that
 *   were sent before and may be sent again, then those that waited, then new ones.
 * - What a call answers after the holder has left live is not looked at: the call was sent again, or is over.
 *
 * Source: design "Held objects"; D47, D49, D50.
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import type { Deadline } from "../base/deadline.ts";
import type {
  CommandDefinition,
  ObjectDefinition,
  QueryDefinition,
  SignalDefinition,
  VariantDefinition,
} from "../base/definition.ts";
import type { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import type { Stop } from "../base/late-signal.ts";
import type { Mark } from "../base/reasons.ts";
import type { Change } from "../delta/operation.ts";
import type { BoundStates } from "./bound-states.ts";

/** Which object somebody holds, and as whom. */
export interface HoldRequest {
  readonly type: ObjectDefinition;
  /** Frozen. */
  readonly params: Message;
  /** The object's name within its type; see `params-key.ts`. */
  readonly key: string;
  readonly caller: Caller;
  /** The client's session name, for the contexts of handlers; undefined: none. */
  readonly session: string | undefined;
}

/** What gives holdings: the objects of this host, or the holder's side of wires. */
export interface Provider {
  /** Never throws: what is wrong is told to the holder as `failed`. */
  acquire(request: HoldRequest, holder: Holder): Holding;
}

/** Who holds. */
export interface Holder {
  /**
   * The object is not live and an attempt runs or waits; or, with a cause, the connection to it is gone. Unanswered
   * calls are lost either way.
   */
  loading(dropped?: ConnectError): void;
  bound(binding: Binding): void;
  /** The object, or this holding alone, is failed, and no attempt runs. */
  failed(failure: HoldingFailure): void;
  changed(member: string, change: Change): void;
}

export interface HoldingFailure {
  readonly cause: HoldfastError;
  /** Wall ms of the next attempt; undefined: there is none until `retry`. To show: nobody keeps a timer for it. */
  readonly retryAt: number | undefined;
}

/** What a holder is bound to: one activation of the object, as one variant. */
export interface Binding {
  readonly variant: VariantDefinition;
  /** Names the activation, by 16 bytes as characters; never the same again. */
  readonly incarnation: string;
  /** Of each state that the variant has. */
  readonly states: BoundStates;
}

/** A reference's claim on an object. */
export interface Holding {
  /** The holder is ready for events. */
  open(): void;
  /** Asks for an attempt now; does nothing unless the object is failed. */
  retry(): void;
  release(): void;
  /**
   * Runs a call. It never rejects. The same `ObjectCall` comes again after a `loading` when nothing answered it, and
   * must not run twice if it is a command.
   */
  call(call: ObjectCall): Promise<ObjectAnswer>;
  /** The program waits no longer for a call that was given and is not answered. */
  forget(call: ObjectCall): void;
  /**
   * Whether a call that was given has not left this process: it is not lost then, and comes again after `bound` as
   * one that waited. Asked inside `loading`. Absent: all have left.
   */
  keeps?(call: ObjectCall): boolean;
  /**
   * Where a command with an outbox goes in place of `call`: to a link, which keeps it and sends it to the object's own
   * path, bound or not. Absent: nothing is kept here, and it is a call as any other.
   */
  readonly post?: ((command: PostedCommand) => Promise<Message>) | undefined;
  /** Why it is not bound, for the text of an error: such as the state of the link. */
  trouble?(): string | undefined;
}

/** A method of an object that can be called. */
export type CallableDefinition = QueryDefinition | CommandDefinition | SignalDefinition;

/** One call on a reference, the same object at each sending. */
export interface ObjectCall {
  /** The member's TypeScript name. */
  readonly member: string;
  readonly definition: CallableDefinition;
  readonly request: Message;
  /** Of a command. */
  readonly callId: string | undefined;
  /** How often it was given to a holding, now included. */
  readonly tries: number;
  /** The call's budget, from the moment at which the program made it. */
  readonly deadline: Deadline;
  readonly options: CallOptions;
  /** Calls `fn` once when the call is over, however it ended: it is never given again. */
  whenOver(fn: () => void): void;
}

/** A command on a reference that a link's outbox sees to. */
export interface PostedCommand {
  readonly definition: CommandDefinition;
  readonly request: Message;
  readonly options: CallOptions & { readonly timeoutMs: number };
  /** Resolves when the calls before it have gone; rejects with the signal's reason when that aborts first. */
  readonly turn: (signal: Stop) => Promise<void>;
}

/** How a call ended. */
export interface ObjectAnswer {
  readonly result: { readonly reply: Message } | { readonly error: ConnectError };
  /** What is known of a command; undefined for a query or signal. */
  readonly mark: Mark | undefined;
  /** It was kept from an earlier run. */
  readonly repeat: boolean;
  readonly header?: Headers | undefined;
  readonly trailer?: Headers | undefined;
}
