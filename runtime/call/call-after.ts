/**
 * A command that has its place behind other calls: the outbox keeps it from the start, and no try leaves before its
 * turn. So is a command on a held object, which comes behind the calls that its reference was given before.
 *
 * Source: design "The outbox", "Held objects: Parking".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions } from "../base/calls.ts";
import { deadlineAfter } from "../base/deadline.ts";
import type { CommandDefinition } from "../base/definition.ts";
import type { Stop } from "../base/late-signal.ts";
import { sendKept } from "./call.ts";
import type { CallEnvironment } from "./call-environment.ts";
import { type Keep, keepOf } from "./keep.ts";
import type { Stamp } from "./stamp.ts";

/** Resolves when it is the call's turn; rejects with the signal's reason when that aborts first. */
export type Turn = (signal: Stop) => Promise<void>;

interface CommandInTurn<I extends DescMessage, O extends DescMessage> {
  readonly definition: CommandDefinition<I, O>;
  readonly request: MessageShape<I>;
  /** With a budget, which counts from the call. */
  readonly options: CallOptions & { readonly timeoutMs: number };
  readonly turn: Turn;
}

/**
 * Makes a call of a command with an outbox.
 *
 * @throws TypeError when the link has no outbox; HoldfastError for every other end without a reply.
 */
export async function makeCallAfter<I extends DescMessage, O extends DescMessage>(
  env: CallEnvironment,
  { definition, request, options, turn }: CommandInTurn<I, O>,
): Promise<MessageShape<O>> {
  const deadline = deadlineAfter(env.clock, options.timeoutMs);
  const keep = await keepOf(env, definition, request, options, env.ending);
  if (keep === undefined) throw new TypeError(`${definition.method.name} has no outbox`);
  // Nothing left is not "no budget given".
  const timeoutMs = Math.max(1, deadline.leftMs());
  return sendKept(env, definition, request as never, new KeepInTurn(keep, turn), { ...options, timeoutMs });
}

class KeepInTurn implements Keep {
  readonly stamp: Stamp | undefined;
  readonly stored: boolean;
  readonly #keep: Keep;
  readonly #turn: Turn;

  constructor(keep: Keep, turn: Turn) {
    this.stamp = keep.stamp;
    this.stored = keep.stored;
    this.#keep = keep;
    this.#turn = turn;
  }

  async turn(signal: Stop): Promise<Uint8Array | undefined> {
    await this.#turn(signal);
    return this.#keep.turn(signal);
  }

  look(): Promise<void> {
    return this.#keep.look();
  }

  sending(tag: string | undefined): Promise<void> {
    return this.#keep.sending(tag);
  }

  notSent(): Promise<void> {
    return this.#keep.notSent();
  }

  replied(reply: () => Uint8Array): Promise<void> {
    return this.#keep.replied(reply);
  }

  failed(error: unknown): Promise<unknown> {
    return this.#keep.failed(error);
  }
}
