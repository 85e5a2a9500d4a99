/**
 * The first try of a call without anything special goes straight: its message leaves over the open wire in the turn of
 * the call, and a plain reply ends it, with one record for all of it. Any other end goes on in the call loop, which
 * takes the call over with what has happened so far: an answer that is no reply, a wire that ends, a try or a budget
 * whose time is over, a link that closes. So what follows from them is decided in one place.
 *
 * A call goes straight when nothing has to be waited for (the wire and the gate are open, the sign-in is known, there
 * is a place in flight, nothing waits in the outbox), and nobody wants to see more of it than its reply.
 *
 * Source: design "Calls".
 */
import {
  create,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { CallOptions } from "../base/calls.ts";
import type { ConnectionFault } from "../base/connection-fault.ts";
import { timeoutHeaderMs } from "../base/deadline.ts";
import type { UnaryDefinition } from "../base/definition.ts";
import { SharedTimer } from "../base/shared-timer.ts";
import { goOn, makeCall } from "../call/call.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import { hasOutbox } from "../call/keep.ts";
import { Stamp } from "../call/stamp.ts";
import { answeredText, keptText, tellTry } from "../call/try-text.ts";
import { budgetMsOf, tryWaitMsOf } from "../call/try-wait.ts";
import { Mark, type Payload, type Result } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Waiter } from "../wire/call-numbers.ts";
import { messageIn, payloadBytes, payloadOf } from "../wire/packet.ts";
import { quickId } from "./quick-id.ts";
import {
  begunWireTry,
  type BegunWireTry,
  wireRequestBytesMost,
  type WireTryParts,
} from "./wire-transport.ts";

/** What a try that goes straight sends, and in whose name. */
interface Sending {
  readonly definition: UnaryDefinition;
  readonly options: CallOptions;
  readonly request: Payload;
  readonly token: string | undefined;
  /** Of a command. */
  readonly stamp: Stamp | undefined;
  /** Whether it has a place among those in flight. */
  readonly placed: boolean;
}

const noOptions: CallOptions = {};

/** The tries of a link that went straight and are not answered. */
export class FirstTries {
  readonly #env: CallEnvironment;
  readonly #waiting = new Set<FirstTry>();
  readonly #times: SharedTimer<FirstTry>;
  /** The signal whose abort the waiting ones hear of. */
  #ending: AbortSignal | undefined;

  constructor(env: CallEnvironment) {
    this.#env = env;
    const late = (one: FirstTry): void => one.handOver();
    // It keeps the process alive, as a call does that somebody waits for.
    this.#times = new SharedTimer(env.clock, () => this.#waiting, late);
  }

  /** Sends a call's first try over a wire; undefined: the call is one for the loop. Never throws. */
  send<I extends DescMessage, O extends DescMessage>(
    parts: WireTryParts,
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions | undefined,
  ): Promise<MessageShape<O>> | undefined {
    const env = this.#env;
    const { known } = env.signIn;
    if (known === undefined || !this.#isFree(parts, definition) || !isPlain(options)) return undefined;
    const payload = payloadToSend(parts, definition.method.input, request);
    if (payload === undefined) return undefined;
    const journaled = definition.kind === "command" && definition.callId !== false;
    const placed = journaled && definition.delivery !== "atMostOnce";
    if (placed && !env.inFlight.enterNow()) return undefined;
    return new Promise((resolve) => {
      const sending: Sending = {
        definition,
        options: options ?? noOptions,
        request: payload,
        token: known.token,
        stamp: journaled ? new Stamp(quickId(env.random), env) : undefined,
        placed,
      };
      const settle = resolve as (reply: Message | PromiseLike<Message>) => void;
      const one = new FirstTry(this, env, parts, sending, settle);
      try {
        one.send();
        this.#add(one);
      } catch {
        // Nothing has left; what keeps it from that, the loop says.
        one.leave();
        sending.stamp?.settle();
        resolve(makeCall(env, definition, request, options));
      }
    });
  }

  /** It is over, or the loop's. */
  remove(one: FirstTry): void {
    this.#waiting.delete(one);
    if (this.#waiting.size === 0) this.#times.rest();
  }

  /** Whether nothing keeps a call of this method from being sent now. */
  #isFree({ calls, interceptors }: WireTryParts, definition: UnaryDefinition): boolean {
    const { gate, ending, outbox } = this.#env;
    if (!calls.end.open || interceptors.length > 0 || ending.aborted || !gate.clear) return false;
    if (definition.kind === "heartbeat" || hasOutbox(definition)) return false;
    return outbox === undefined || outbox.isClear(definition);
  }

  #add(one: FirstTry): void {
    const { ending } = this.#env;
    if (this.#ending !== ending) {
      // After a new sign-in a link that was refused has another one.
      this.#ending = ending;
      ending.addEventListener("abort", () => {
        for (const each of [...this.#waiting]) each.handOver();
      });
    }
    this.#waiting.add(one);
    this.#times.watch(one.dueAt);
  }
}

class FirstTry implements Waiter, BegunWireTry {
  /** Ms of the monotonic clock at which the try's time, or its call's, is over. */
  readonly dueAt: number;
  readonly #tries: FirstTries;
  readonly #env: CallEnvironment;
  readonly #parts: WireTryParts;
  readonly #sending: Sending;
  readonly #settle: (reply: Message | PromiseLike<Message>) => void;
  readonly #startedAt: number;
  readonly #budgetMs: number;
  #id = 0;
  /** Who hears how it ends, once the loop has it. */
  #heir: Waiter | undefined;
  #ended: ((heir: Waiter) => void) | undefined;

  constructor(
    tries: FirstTries,
    env: CallEnvironment,
    parts: WireTryParts,
    sending: Sending,
    settle: (reply: Message | PromiseLike<Message>) => void,
  ) {
    this.#tries = tries;
    this.#env = env;
    this.#parts = parts;
    this.#sending = sending;
    this.#settle = settle;
    const { definition, options } = sending;
    this.#budgetMs = budgetMsOf(definition, options, env.timing);
    this.#startedAt = env.clock.monotonic();
    this.dueAt = this.#startedAt + Math.min(this.#budgetMs, tryWaitMsOf(definition, env.timing));
  }

  get id(): number {
    return this.#id;
  }

  send(): void {
    const { definition, request, stamp } = this.#sending;
    const tag = this.#env.tagOf(this.#sender);
    // Its secret is the one that hello told.
    const fields = stamp?.fields(false, tag);
    const one = {
      method: definition.method,
      request,
      timeoutMs: timeoutHeaderMs(this.#budgetMs),
      stamp: fields,
      link: this.#parts.link,
      headers: [],
    };
    this.#id = this.#parts.calls.send(one, this);
  }

  result(result: Result): void {
    const heir = this.#heir;
    if (heir !== undefined) {
      heir.result(result);
      return;
    }
    const { definition } = this.#sending;
    const { outcome } = result;
    let reply: Message | undefined;
    if (outcome.case === "reply") {
      try {
        reply = messageIn(this.#parts.calls.end.codec, definition.method.output, outcome.value);
      } catch {
        // The loop meets the same fault, and says so.
      }
    }
    if (reply === undefined) {
      this.#ended = (its) => its.result(result);
      this.handOver();
    } else this.#replied(result, reply);
  }

  lost(fault: ConnectionFault): void {
    if (this.#heir !== undefined) {
      this.#heir.lost(fault);
      return;
    }
    this.#ended = (heir) => heir.lost(fault);
    this.handOver();
  }

  follow(heir: Waiter): void {
    this.#heir = heir;
    this.#ended?.(heir);
  }

  /** The call is the loop's from here on. */
  handOver(): void {
    this.#tries.remove(this);
    const { definition, options, request, token, stamp } = this.#sending;
    const { codec } = this.#parts.calls.end;
    // As it was when the call was made: the program may have changed its own message since.
    const message = messageIn(codec, definition.method.input, request);
    const connection = begunWireTry(this.#parts, this);
    const begun = { connection, token, stamp, startedAt: this.#startedAt, leave: () => this.leave() };
    stamp?.handedOver();
    this.#settle(goOn(this.#env, definition, message, options, begun));
  }

  /** Gives back its place. */
  leave(): void {
    if (this.#sending.placed) this.#env.inFlight.leave();
  }

  /** Whom the server takes it for. */
  get #sender(): string | undefined {
    const { token, stamp } = this.#sending;
    return token ?? stamp?.anonymous;
  }

  #replied({ mark, caller, repeat }: Result, reply: Message): void {
    const env = this.#env;
    const { definition, stamp } = this.#sending;
    this.#tries.remove(this);
    if (mark !== Mark.UNSPECIFIED) env.named(caller === "" ? this.#parts.tag : caller, this.#sender);
    env.gate.report("answered");
    env.answered();
    tellTry(env.log, definition, stamp?.callId, 1, repeat ? keptText : answeredText);
    this.leave();
    stamp?.settle();
    this.#settle(reply);
  }
}

/** Whether nobody wants to see or to stop more of a call than its reply; a budget is what it has anyway. */
function isPlain(options: CallOptions | undefined): boolean {
  if (options === undefined) return true;
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && name !== "short" && (name !== "timeoutMs" || Number.isNaN(value)))
      return false;
  }
  return true;
}

/** The request as the wire carries it; undefined: what is wrong with it, or where else it goes, the loop knows. */
function payloadToSend<I extends DescMessage>(
  { calls }: WireTryParts,
  input: I,
  request: MessageInitShape<I>,
): Payload | undefined {
  try {
    const message = create(input, request);
    // Fields that this program does not know travel in the binary form alone.
    if (message.$unknown !== undefined) return undefined;
    const payload = payloadOf(calls.end.codec, input, message);
    return payloadBytes(payload) > wireRequestBytesMost ? undefined : payload;
  } catch {
    return undefined;
  }
}
