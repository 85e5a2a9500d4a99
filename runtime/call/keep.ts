/**
 * The outbox as a call sees it: a keep is what the outbox holds of one call. The call asks it for its turn, tells
 * it before bytes leave, and leaves to it what a program is told when the call ends without an answer. The
 * outbox itself stands above this folder; here is the seam, and the one check that a call needs.
 *
 * Source: design "The outbox".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions } from "../base/calls.ts";
import type { CommandDefinition, UnaryDefinition } from "../base/definition.ts";
import type { Stop } from "../base/late-signal.ts";
import type { Stamp } from "./stamp.ts";

/** What the outbox holds of one call. */
export interface Keep {
  /** The stamp that the call's tries carry; undefined: one of the link's own. Settled by the keep, not the call. */
  readonly stamp: Stamp | undefined;
  /** Whether it is an entry: then it is no command in flight of the link. */
  readonly stored: boolean;
  /** Whether the request is bytes without their schema, which travel in the binary form only. */
  readonly binary?: boolean;
  /**
   * Before each try: resolves when no entry is before it, and this process may send it. With bytes: another
   * process has sent it, and this is the reply.
   *
   * @throws the signal's reason when it aborts first; the error that the call ended with in another process, or
   * that keeps the outbox from its server for good.
   */
  turn(signal: Stop): Promise<Uint8Array | undefined>;
  /** After all waiting for a try: whether somebody else has sent the command meanwhile, which its stamp says then. */
  look(): Promise<void>;
  /** A try is about to be sent in the name of this caller. Resolves when that is written down. */
  sending(tag: string | undefined): Promise<void>;
  /** No try of it has left so far. */
  notSent(): Promise<void>;
  /** The call has its reply. */
  replied(reply: () => Uint8Array): Promise<void>;
  /** The call has no reply: gives the error that the program gets. */
  failed(error: unknown): Promise<unknown>;
}

/** A command that comes to the outbox. */
export interface EnteringCall {
  readonly definition: CommandDefinition;
  readonly request: MessageShape<DescMessage>;
  readonly options: CallOptions;
  /** Aborts when the call is over: by its budget, its program or its link. */
  readonly signal: Stop;
}

export interface CallOutbox {
  /**
   * A command begins.
   *
   * @throws HoldfastError OUTBOX_FULL: it cannot be kept, so nothing is sent. The signal's reason, for a method without
   * an outbox: what is kept for the others is kept, or is not, whatever becomes of the call meanwhile.
   */
  enter(call: EnteringCall): Promise<Keep>;
  /** A query, signal or heartbeat begins: what waits is sent, and it does not wait for that. */
  prompt(): void;
  /**
   * Whether a call of a method without an outbox has nothing to do here: the method is known, and at the last look,
   * a moment ago, nothing waited.
   */
  isClear(definition: UnaryDefinition): boolean;
  /** Looks, where all that keeps it from being clear is the age of the last look; else undefined. Never rejects. */
  clearing(definition: UnaryDefinition): Promise<void> | undefined;
}

/** What the check looks at. */
interface OutboxEnvironment {
  readonly server: "holdfast" | "plain";
  readonly outbox: CallOutbox | undefined;
}

/**
 * The keep of a call; undefined where there is nothing to keep.
 *
 * @throws TypeError for a command that asks for an outbox which the link has not, or for a key without one.
 */
export async function keepOf(
  { server, outbox }: OutboxEnvironment,
  definition: UnaryDefinition,
  request: MessageShape<DescMessage>,
  options: CallOptions,
  signal: Stop,
): Promise<Keep | undefined> {
  if (hasOutbox(definition) && outbox === undefined)
    throw new TypeError(`${pathOf(definition)} has an outbox in its schema, ${lacks(server)}`);
  assertKeyFits(definition, options);
  if (definition.kind === "command") return outbox?.enter({ definition, request, options, signal });
  outbox?.prompt();
  return undefined;
}

/** Whether the schema gives it an outbox. */
export function hasOutbox(definition: UnaryDefinition): definition is CommandDefinition {
  return definition.kind === "command" && (definition.outbox ?? "none") !== "none";
}

/** @throws TypeError for a key of a method without an outbox. */
export function assertKeyFits(definition: UnaryDefinition, { key }: Pick<CallOptions, "key">): void {
  if (key === undefined || hasOutbox(definition)) return;
  throw new TypeError(
    `${pathOf(definition)} was called with a key, which is for commands with an outbox; leave it out, or give the method \`outbox: LATE\` or \`EARLY\` in its schema`,
  );
}

function pathOf({ method }: UnaryDefinition): string {
  return `${method.parent.typeName}/${method.name}`;
}

function lacks(server: "holdfast" | "plain"): string {
  return server === "plain"
    ? 'and a link with server: "plain" has none: only a holdfast server keeps what ran. Take `outbox` away, or talk to a holdfast server'
    : "and this link has no store for one: give linkOf `outbox: { store }`, in a browser indexedDbOutbox() of holdfast/web/outbox (holdfast/node keeps files by default), or take `outbox` away";
}
