/**
 * One end of a wire that is open: hello and welcome have been said, and typed messages go both ways. Several
 * users share it, and each takes the kinds of messages that are its business.
 *
 * What it sees to: packets of all that is said in a turn, signs of life out and silence in, the limit of what
 * waits unsent, and faults of the protocol, which end the wire with an error that says what was wrong.
 *
 * Source: design "Wires", "Quality: Security".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../base/clock.ts";
import { type Log, silentLog } from "../base/log.ts";
import { CodecError } from "../codec/codec-error.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { askWaitMs, Liveness, type LivenessTimes } from "./liveness.ts";
import { PacketQueue, readPacket } from "./packet.ts";
import { packetBytesMost, type Wire } from "./wire.ts";

/** Above this much unsent, who sends values that a later one replaces should join them. */
export const unsentBytesHigh: number = 4 * 1_048_576;
/** With more than this unsent the other end is too slow, and the wire is cut. */
export const unsentBytesMost: number = 16 * 1_048_576;

/** The kinds of a message that is one of many. */
type KindOf<Desc extends DescMessage> =
  MessageShape<Desc> extends { kind: infer Kind } ? Exclude<Kind, { case: undefined }> : never;
type CaseOf<Desc extends DescMessage> =
  KindOf<Desc> extends { case: infer Case extends string } ? Case : never;

type ValueOf<Desc extends DescMessage, Case> =
  Extract<KindOf<Desc>, { case: Case }> extends { value: infer Value } ? Value : never;

/** What an end does with the messages that come: one function for each kind that it takes. */
export type MessageHandlers<Desc extends DescMessage> = {
  readonly [Case in CaseOf<Desc>]?: (message: ValueOf<Desc, Case>) => void;
};

export interface WireEndOptions extends LivenessTimes {
  readonly wire: Wire;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly log?: Log;
}

/** A fault of the other end: what it sent breaks the rules. Thrown by a handler, it ends the wire. */
export function protocolFault(what: string): ConnectError {
  return new ConnectError(what, Code.InvalidArgument);
}

export abstract class WireEnd<In extends DescMessage, Out extends DescMessage> {
  readonly codec: Codec;
  protected readonly clock: Clock;
  readonly #wire: Wire;
  readonly #log: Log;
  readonly #in: In;
  readonly #queue: PacketQueue<Out>;
  readonly #handlers = new Map<string, (message: never) => void>();
  readonly #liveness: Liveness;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #asking: ((alive: boolean) => void)[] = [];
  #closers: ((cause: Error | undefined) => void)[] = [];
  #state: "open" | "closing" | "closed" = "open";
  #cause: Error | undefined;

  /** The caller hands on what the wire brings: `receive` and `gone`. */
  constructor(descs: { readonly in: In; readonly out: Out }, options: WireEndOptions) {
    this.codec = options.codec;
    this.clock = options.clock;
    this.#wire = options.wire;
    this.#log = options.log ?? silentLog;
    this.#in = descs.in;
    this.#queue = new PacketQueue(options.codec, descs.out, (packet) => this.#out(packet));
    this.#liveness = new Liveness(options, options.clock.monotonic());
    this.#schedule();
  }

  /** A keepalive of this end. */
  protected abstract keepalive(ask: boolean): MessageShape<Out>;

  /** What is said to the other end before the wire ends by a fault of its own; undefined: nothing. */
  protected abstract lastWord(error: ConnectError): MessageShape<Out> | undefined;

  get open(): boolean {
    return this.#state === "open";
  }

  /** Bytes that were sent and have not left. */
  get unsentBytes(): number {
    return this.#wire.bufferedAmount;
  }

  /** Whether so much waits unsent that what can be joined should be. */
  get slow(): boolean {
    return this.#wire.bufferedAmount > unsentBytesHigh;
  }

  /**
   * Takes some kinds of messages, for as long as the wire lives. A handler is called in the turn of the packet;
   * what it throws ends the wire.
   *
   * @throws TypeError for a kind that somebody takes already.
   */
  take(handlers: MessageHandlers<In>): void {
    for (const [kind, handler] of Object.entries(handlers) as [string, (message: never) => void][]) {
      if (this.#handlers.has(kind))
        throw new TypeError(`the messages "${kind}" of this wire are taken already`);
      this.#handlers.set(kind, handler);
    }
  }

  /**
   * Says something, with all else that this turn says. On a wire that has ended it is dropped.
   *
   * @throws CodecError for a message that does not fit its types.
   */
  send(message: MessageShape<Out>): void {
    if (this.#state === "open") this.#queue.add(message);
  }

  /** The same of a message that is shaped already. */
  sendPlain(plain: Plain): void {
    if (this.#state === "open") this.#queue.addPlain(plain);
  }

  /**
   * Says something that its sender may still add to, as long as {@link isOpen} says so: what is true of many is said
   * once then.
   */
  sendOpen(message: MessageShape<Out>): void {
    if (this.#state === "open") this.#queue.addOpen(message);
  }

  /** Whether nothing was said since this, and it waits for the turn's end. */
  isOpen(message: MessageShape<Out>): boolean {
    return this.#queue.isOpen(message);
  }

  /** Sends what was packed already, behind all that was said before. Others may be sent the same bytes. */
  sendPacket(packet: Uint8Array): void {
    if (this.#state !== "open") return;
    this.#queue.flush();
    this.#out(this.#wire.sharesPackets === true ? packet : packet.slice());
  }

  /** Sends what waits for the turn's end. */
  flush(): void {
    this.#queue.flush();
  }

  /**
   * Asks the other end for a sign. False, and the wire is cut, when none came in `waitMs`; false also when the wire
   * ends meanwhile.
   */
  ask(waitMs: number = askWaitMs): Promise<boolean> {
    if (this.#state !== "open") return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#asking.push(resolve);
      this.#liveness.asked(this.clock.monotonic(), waitMs);
      this.send(this.keepalive(true));
      this.#schedule();
    });
  }

  /** Calls `fn` once when the wire has ended. `cause` is what went wrong. */
  onClose(fn: (cause: Error | undefined) => void): void {
    if (this.#state === "closed") fn(this.#cause);
    else this.#closers.push(fn);
  }

  /** Ends it in good order, after what was said. The users hear of it in a turn of its own. */
  close(cause?: Error): void {
    if (this.#state !== "open") return;
    this.#queue.flush();
    this.#state = "closing";
    this.#cause = cause;
    this.#timer?.cancel();
    this.#wire.close();
  }

  /** The other end broke the rules, or this one failed: says so, and ends the wire. */
  fault(thrown: unknown): void {
    if (this.#state !== "open") return;
    const error = this.#errorOf(thrown);
    const word = this.lastWord(error);
    if (word !== undefined) this.#queue.add(word);
    this.close(error);
  }

  /** A packet came. Its bytes are good until this returns. */
  receive(packet: Uint8Array): void {
    if (this.#state !== "open") return;
    this.#heard();
    let messages: readonly MessageShape<In>[];
    try {
      if (packet.length > packetBytesMost) {
        throw protocolFault(`a packet of ${packet.length} bytes is larger than ${packetBytesMost}`);
      }
      messages = readPacket(this.codec, this.#in, packet);
    } catch (error) {
      this.fault(error);
      return;
    }
    this.receiveAll(messages);
  }

  /** Messages came, in order. */
  receiveAll(messages: readonly MessageShape<In>[]): void {
    for (const message of messages) {
      if (this.#state !== "open") return;
      try {
        this.#receiveOne((message as unknown as { kind: AnyKind }).kind);
      } catch (error) {
        this.fault(error);
      }
    }
  }

  /** The wire has ended. */
  gone(cause: Error | undefined): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#cause ??= cause;
    this.#timer?.cancel();
    this.#answered(false);
    for (const closer of this.#closers.splice(0)) closer(this.#cause);
    this.#handlers.clear();
  }

  #receiveOne(kind: AnyKind): void {
    // What a later version says beyond this one.
    if (kind.case === undefined) return;
    const handler = this.#handlers.get(kind.case);
    if (handler !== undefined) handler(kind.value as never);
    else throw protocolFault(`"${kind.case}" is not taken on this wire`);
  }

  #out(packet: Uint8Array): void {
    this.#wire.send(packet);
    const unsent = this.#wire.bufferedAmount;
    if (unsent <= unsentBytesMost) return;
    this.#cut(
      new ConnectError(`the other end reads too slowly: ${unsent} bytes wait for it`, Code.ResourceExhausted),
    );
  }

  #heard(): void {
    const now = this.clock.monotonic();
    this.#liveness.heard(now);
    if (this.#liveness.signDue(now)) this.send(this.keepalive(false));
    if (this.#asking.length > 0) this.#answered(true);
  }

  #answered(alive: boolean): void {
    const asking = this.#asking;
    this.#asking = [];
    for (const resolve of asking) resolve(alive);
  }

  #schedule(): void {
    const at = this.#liveness.dueAt;
    if (this.#state !== "open" || this.#timerAt <= at) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.clock.timer(at - this.clock.monotonic(), () => this.#look(), { background: true });
  }

  #look(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const act = this.#liveness.look(this.clock.monotonic());
    switch (act) {
      case "dead":
        this.#cut(new ConnectError("the other end of the wire gives no sign", Code.Unavailable));
        return;
      case "slept":
        this.send(this.keepalive(true));
        break;
      case "sign":
        this.send(this.keepalive(false));
        break;
      case "nothing":
    }
    this.#schedule();
  }

  #cut(cause: Error): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#cause = cause;
    this.#timer?.cancel();
    this.#wire.cut(cause);
  }

  #errorOf(thrown: unknown): ConnectError {
    if (thrown instanceof ConnectError) return thrown;
    if (thrown instanceof CodecError) return protocolFault(`a packet cannot be read: ${thrown.message}`);
    this.#log.error("a handler of a wire's messages failed", { error: thrown });
    return new ConnectError("an end of the wire failed", Code.Internal);
  }
}

interface AnyKind {
  readonly case: string | undefined;
  readonly value?: unknown;
}
