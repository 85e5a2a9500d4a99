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
import { silentLog } from "../base/log.ts";
import { SharedTimer } from "../base/shared-timer.ts";
import { snapshot } from "../base/snapshot.ts";
import { goOn, makeCall } from "../call/call.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import { hasOutbox } from "../call/keep.ts";
import { Stamp } from "../call/stamp.ts";
import { answeredText, keptText, tellTry } from "../call/try-text.ts";
import { budgetMsOf, tryWaitMsOf } from "../call/try-wait.ts";
import { type Call, Mark, type Payload, type Result } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { FirstCall } from "../codec/call-messages.ts";
import type { Plain } from "../codec/codec.ts";
import type { Waiter } from "../wire/call-numbers.ts";
import { firstCallIn, shapeFirstCall } from "../wire/first-call.ts";
import { messageIn, ownPayload } from "../wire/packet.ts";
import { lookMsMost, OutboxLook } from "./outbox-look.ts";
import { quickId } from "./quick-id.ts";
import {
  begunWireTry,
  type BegunWireTry,
  wireRequestBytesMost,
  type WireTryParts,
} from "./wire-transport.ts";

const noOptions: CallOptions = {};

type Settle = (reply: Message | PromiseLike<Message>) => void;

/** What the promise that is being made is settled with: one function for all of them. */
let madeSettle: Settle;
const takeSettle = (settle: Settle): void => {
  madeSettle = settle;
};

/** What a try is made with. */
interface Sending {
  readonly definition: UnaryDefinition;
  readonly options: CallOptions;
  readonly token: string | undefined;
  /** Whether it has a place among those in flight. */
  readonly placed: boolean;
}

/** What a call says beside its request. One record for all calls of a link: it is read before the next is made. */
class Head implements FirstCall {
  id = 0;
  method = 0;
  timeoutMs = 0;
  callId = "";
  seq = 0;
  settled = 0;
  serverMs: number | undefined;
}

/** The tries of a link that went straight and are not answered. */
export class FirstTries {
  readonly env: CallEnvironment;
  readonly #times: SharedTimer<FirstTry>;
  readonly #look: OutboxLook;
  readonly #head = new Head();
  /** The one that was sent last; each knows its neighbours. */
  #newest: FirstTry | undefined;
  /** The signal whose abort the waiting ones hear of. */
  #ending: AbortSignal | undefined;

  constructor(env: CallEnvironment) {
    this.env = env;
    this.#look = new OutboxLook(env.clock);
    const late = (one: FirstTry): void => one.handOver();
    // It keeps the process alive, as a call does that somebody waits for.
    this.#times = new SharedTimer(env.clock, () => this.#waiting(), late);
  }

  /** Sends a call's first try over a wire; undefined: the call is one for the loop. Never throws. */
  send<I extends DescMessage, O extends DescMessage>(
    parts: WireTryParts,
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions | undefined,
  ): Promise<MessageShape<O>> | undefined {
    const { env } = this;
    const { known } = env.signIn;
    if (known === undefined || !this.#isFree(parts, definition) || !isPlain(options)) return undefined;
    if (!this.#isClear(definition)) {
      const clearing = env.outbox?.clearing(definition);
      return clearing && this.#sendAfter(clearing, parts, definition, request, options);
    }
    const journaled = definition.kind === "command" && definition.callId !== false;
    const placed = journaled && definition.delivery !== "atMostOnce";
    if (placed && !env.inFlight.enterNow()) return undefined;
    const replied = new Promise<Message>(takeSettle as never);
    const sending = { definition, options: options ?? noOptions, token: known.token, placed };
    const one = new FirstTry(this, parts, sending, madeSettle);
    this.#add(one);
    try {
      one.send(this.#head, request, journaled);
    } catch {
      // Nothing has left; what keeps it from that, the loop says.
      this.remove(one);
      one.leave();
      return undefined;
    }
    return replied as Promise<MessageShape<O>>;
  }

  /** It is over, or the loop's. */
  remove(one: FirstTry): void {
    const { before, after } = one;
    if (before !== undefined) before.after = after;
    if (after !== undefined) after.before = before;
    else this.#newest = before;
    if (this.#newest === undefined) this.#times.rest();
  }

  /** Whether nothing keeps a call of this method from being sent now. */
  #isFree({ calls, interceptors }: WireTryParts, definition: UnaryDefinition): boolean {
    const { gate, ending } = this.env;
    if (!calls.end.open || interceptors.length > 0 || ending.aborted || !gate.clear) return false;
    return definition.kind !== "heartbeat" && !hasOutbox(definition);
  }

  /**
   * After a pause the look into the outbox is old, and a burst of calls finds it so. They wait for one new look, in
   * their order, and go straight then. Where it takes long, the loop waits for it, which has the call's budget.
   */
  async #sendAfter<I extends DescMessage, O extends DescMessage>(
    clearing: Promise<void>,
    parts: WireTryParts,
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions | undefined,
  ): Promise<MessageShape<O>> {
    // As it is now: the program may change its own message meanwhile.
    const message = snapshot(definition.method.input, request);
    if (!(await this.#look.inTime(clearing))) {
      const budgetMs = budgetMsOf(definition, options ?? noOptions, this.env.timing);
      const timeoutMs = Math.max(1, budgetMs - lookMsMost);
      return makeCall(this.env, definition, message, { ...options, timeoutMs });
    }
    const straight = this.#isClear(definition) ? this.send(parts, definition, message, options) : undefined;
    return straight ?? makeCall(this.env, definition, message, options);
  }

  #isClear(definition: UnaryDefinition): boolean {
    return this.env.outbox?.isClear(definition) ?? true;
  }

  #add(one: FirstTry): void {
    const { ending } = this.env;
    if (this.#ending !== ending) {
      // After a new sign-in a link that was refused has another one.
      this.#ending = ending;
      ending.addEventListener("abort", () => {
        for (const each of [...this.#waiting()]) each.handOver();
      });
    }
    const newest = this.#newest;
    one.before = newest;
    if (newest !== undefined) newest.after = one;
    this.#newest = one;
    this.#times.watch(one.dueAt);
  }

  /** The oldest first. */
  #waiting(): readonly FirstTry[] {
    const waiting: FirstTry[] = [];
    for (let one = this.#newest; one !== undefined; one = one.before) waiting.push(one);
    return waiting.reverse();
  }
}

/**
 * One try. What it has sent is the record of its request and its stamp, which are read back when somebody needs them.
 */
class FirstTry implements Waiter, BegunWireTry {
  readonly #tries: FirstTries;
  readonly #parts: WireTryParts;
  readonly #definition: UnaryDefinition;
  readonly #options: CallOptions;
  readonly #token: string | undefined;
  /** Whether it has a place among those in flight. */
  readonly #placed: boolean;
  /** Ms of the monotonic clock at which the call was made, and of the wall clock. */
  readonly #startedAt: number;
  #wallMs = 0;
  /** Ms of the monotonic clock at which the try's time, or its call's, is over. */
  readonly dueAt: number;
  id = 0;
  /** Of a command: its number in the lane, and in whose name it was sent. Else 0. */
  #seq = 0;
  #person = 0;
  #tag: string | undefined;
  #sent: Plain | undefined;
  readonly #settle: Settle;
  /** Its neighbours among those that wait. */
  before: FirstTry | undefined;
  after: FirstTry | undefined;
  /** The loop has it, and hears how it ends once it listens. */
  #handedOver = false;
  #heir: Waiter | undefined;
  #ended: ((heir: Waiter) => void) | undefined;

  constructor(
    tries: FirstTries,
    parts: WireTryParts,
    { definition, options, token, placed }: Sending,
    settle: Settle,
  ) {
    const { clock, timing } = tries.env;
    this.#tries = tries;
    this.#parts = parts;
    this.#definition = definition;
    this.#options = options;
    this.#token = token;
    this.#placed = placed;
    this.#settle = settle;
    this.#startedAt = clock.monotonic();
    const budgetMs = budgetMsOf(definition, options, timing);
    this.dueAt = this.#startedAt + Math.min(budgetMs, tryWaitMsOf(definition, timing));
  }

  /** @throws CodecError and others, for a request that the wire does not take; then nothing is sent. */
  send(head: Head, request: MessageInitShape<DescMessage>, journaled: boolean): void {
    const { calls } = this.#parts;
    const { method } = this.#definition;
    const { env } = this.#tries;
    const message = create(method.input, request);
    // Fields that this program does not know travel in the binary form alone.
    if (message.$unknown !== undefined) throw new TypeError("a message with unknown fields goes over HTTP");
    head.id = calls.numbers.next();
    head.method = calls.numberOf(method);
    head.timeoutMs = timeoutHeaderMs(budgetMsOf(this.#definition, this.#options, env.timing)) ?? 0;
    head.callId = "";
    if (journaled) this.#stamp(head);
    try {
      const sent = shapeFirstCall(calls.end.codec, head, method.input, message, wireRequestBytesMost);
      calls.numbers.sendShaped(head.id, sent, this);
      this.#sent = sent;
      this.id = head.id;
    } catch (error) {
      if (journaled) env.lane.settle(this.#seq);
      throw error;
    }
  }

  result(result: Result): void {
    const heir = this.#heir;
    if (heir !== undefined) {
      heir.result(result);
      return;
    }
    const { outcome } = result;
    if (outcome.case === "reply" && !this.#handedOver) {
      const reply = this.#replyIn(outcome.value);
      if (reply !== undefined) {
        this.#replied(result, reply);
        return;
      }
    }
    if (outcome.case === "reply") {
      // The loop reads it after this turn, and says what is wrong with it.
      const { codec } = this.#parts.calls.end;
      result.outcome = { case: "reply", value: ownPayload(codec, outcome.value) };
    }
    this.#ended = (its) => its.result(result);
    this.handOver();
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
    if (this.#handedOver) return;
    this.#handedOver = true;
    const { env } = this.#tries;
    this.#tries.remove(this);
    const definition = this.#definition;
    const { codec } = this.#parts.calls.end;
    const call = this.#call();
    // As it was when the call was made: the program may have changed its own message since.
    const message = messageIn(codec, definition.method.input, call.request);
    const begun = {
      connection: begunWireTry(this.#parts, this),
      token: this.#token,
      stamp: call.stamp === undefined ? undefined : this.#stampOf(call.stamp),
      startedAt: this.#startedAt,
      leave: () => this.leave(),
    };
    this.#settle(goOn(env, definition, message, this.#options, begun));
  }

  /** Gives back its place. */
  leave(): void {
    if (this.#placed) this.#tries.env.inFlight.leave();
  }

  /** Whom the server takes it for: its secret is the one that hello told. */
  get #sender(): string | undefined {
    return this.#token ?? (this.#seq === 0 ? undefined : this.#tries.env.anonymous);
  }

  #stamp(head: Head): void {
    const { env } = this.#tries;
    const { lane, ticket } = env;
    this.#seq = lane.next();
    this.#wallMs = env.clock.now();
    this.#person = env.signIn.person;
    this.#tag = env.tagOf(this.#sender);
    head.callId = quickId(env.random);
    head.seq = this.#seq;
    head.settled = lane.settled;
    const serverMs = ticket.serverMsAt(this.#startedAt, this.#startedAt);
    head.serverMs = serverMs === undefined ? undefined : Math.floor(serverMs);
  }

  #replyIn(payload: Payload): Message | undefined {
    try {
      return messageIn(this.#parts.calls.end.codec, this.#definition.method.output, payload);
    } catch {
      return undefined;
    }
  }

  /** As it was sent. */
  #call(): Call {
    if (this.#sent === undefined) throw new TypeError("a try that waits has been sent");
    return firstCallIn(this.#parts.calls.end.codec, this.#sent);
  }

  #stampOf({ callId, seq, firstSent }: NonNullable<Call["stamp"]>): Stamp {
    return Stamp.begun(this.#tries.env, {
      callId,
      seq,
      at: this.#startedAt,
      wallMs: this.#wallMs,
      serverMs: firstSent.case === "serverMs" ? firstSent.value : undefined,
      person: this.#person,
      tag: this.#tag,
    });
  }

  #replied({ mark, caller, repeat }: Result, reply: Message): void {
    const { env } = this.#tries;
    this.#tries.remove(this);
    if (mark !== Mark.UNSPECIFIED) env.named(caller === "" ? this.#parts.tag : caller, this.#sender);
    env.gate.report("answered");
    env.answered();
    if (env.log !== silentLog) {
      const callId = this.#call().stamp?.callId;
      tellTry(env.log, this.#definition, callId, 1, repeat ? keptText : answeredText);
    }
    this.leave();
    if (this.#seq !== 0) env.lane.settle(this.#seq);
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
