/**
 * Which requests are signs of life of a session, and what a heartbeat says beside.
 *
 * Source: design "Sessions".
 */
import { type Message, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "../runtime/base/definition.ts";
import type { Limits } from "../runtime/base/limits.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import type { Guest } from "./entrance.ts";
import type { SessionGuest } from "./session/session.ts";
import type { Sessions } from "./session/sessions.ts";

/** What gives a sign: a call with its guest. */
export interface LivingCall {
  readonly definition: MethodDefinition;
  readonly request: Message;
  readonly guest: Pick<Guest, "caller" | "key" | "session">;
}

export class SignsOfLife {
  readonly #sessions: Sessions;
  readonly #limits: Pick<Limits, "heartbeatBytesMost">;
  /** Calls come in rows of one session. */
  #last: SessionGuest | undefined;

  constructor(sessions: Sessions, limits: Pick<Limits, "heartbeatBytesMost">) {
    this.#sessions = sessions;
    this.#limits = limits;
  }

  /** Takes a call for a sign. A promise: the session is at its end just now; wait for it, then give the sign again. */
  of({ definition, guest }: LivingCall): Promise<void> | undefined {
    const its = this.#guestOf(guest);
    if (its === undefined) return undefined;
    const { kind } = definition;
    return this.#sessions.sign(its, kind === "command" || kind === "heartbeat");
  }

  /**
   * Remembers what a heartbeat says; nothing for other calls, and for one without a session.
   *
   * @throws HoldfastError TOO_LARGE, or OVERLOADED for one session too many.
   */
  beat({ definition, request, guest }: LivingCall): void {
    if (definition.kind !== "heartbeat") return;
    const its = this.#guestOf(guest);
    if (its === undefined) return;
    const { heartbeatBytesMost } = this.#limits;
    if (toBinary(definition.method.input, request).byteLength > heartbeatBytesMost) {
      throw serverError("TOO_LARGE", `a heartbeat has ${heartbeatBytesMost} bytes at most`);
    }
    if (!this.#sessions.beat(its, request, definition.goneAfterMs)) {
      throw serverError("OVERLOADED", "the server looks after no more sessions");
    }
  }

  #guestOf({ caller, key, session }: LivingCall["guest"]): SessionGuest | undefined {
    if (session === undefined) return undefined;
    const last = this.#last;
    if (
      last?.name === session &&
      last.space === key.space &&
      last.caller === caller &&
      last.quota === key.quota
    )
      return last;
    this.#last = { space: key.space, name: session, quota: key.quota, caller };
    return this.#last;
  }
}
