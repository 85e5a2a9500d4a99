/**
 * A stream's place on the WebSocket that the streams of a link share.
 *
 * A wire is always read, for all that share it, so no stream may be held up by another one's reader. What a slow
 * reader leaves waits here up to its room; then the stream is unfollowed, and followed again behind the last item
 * that came when the reader has made room. There are no credit messages, and the server keeps nothing for it.
 *
 * A stream without numbers cannot go on behind an item. Only a connection of its own can slow its server down, so it
 * gets one.
 *
 * Source: design "Streams: The client".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import { Batch } from "../base/batch.ts";
import { ConnectionFault, faultIn } from "../base/connection-fault.ts";
import { untilAborted } from "../base/signals.ts";
import type { HttpProgress } from "../call/outcome.ts";
import { payloadBytes } from "../wire/packet.ts";
import { followDialer, type Followed, followMessage } from "./follow-connection.ts";
import { waitingBytesMost } from "./inbox.ts";
import type { Position } from "./resume-point.ts";
import { type SharedWire, sharedWireOf } from "./shared-wire.ts";
import type {
  StreamBatch,
  StreamConnection,
  StreamDialer,
  StreamMessage,
  StreamOpening,
} from "./stream-connection.ts";
import type { StreamEnvironment } from "./stream-environment.ts";
import { streamMessage } from "./stream-message.ts";
import type { WireStream, WireStreams } from "./wire-streams.ts";

/** Dials the shared wire, or Follow where no WebSocket gets through. */
export function wireDialer<I extends DescMessage, O extends DescMessage>(
  env: StreamEnvironment,
  followed: Followed<I, O>,
): StreamDialer<MessageShape<O>> {
  const shared = sharedWireOf(env);
  const own = followDialer(env, followed);
  let leave: (() => void) | undefined;
  let alone = false;
  return {
    open(opening) {
      if (alone) return own.open(opening);
      leave ??= shared.enter(followed.definition.idleMs);
      return new WireConnection({
        followed,
        shared,
        opening,
        openOwn: () => own.open(opening),
        onAlone: () => {
          alone = true;
          leave?.();
        },
      });
    },
    close() {
      leave?.();
      own.close();
    },
  };
}

interface Parts<I extends DescMessage, O extends DescMessage> {
  readonly followed: Followed<I, O>;
  readonly shared: SharedWire;
  readonly opening: StreamOpening<MessageShape<O>>;
  /** Opens a connection of its own in place of this one. */
  readonly openOwn: () => StreamConnection<MessageShape<O>>;
  /** The stream has no numbers: it goes by itself from now on. */
  readonly onAlone: () => void;
}

class WireConnection<I extends DescMessage, O extends DescMessage>
  implements StreamConnection<MessageShape<O>>, WireStream
{
  readonly #parts: Parts<I, O>;
  /** What it goes by in place of the wire. */
  #own: StreamConnection<MessageShape<O>> | undefined;
  /** Something came over that. */
  #ownGave = false;
  #streams: WireStreams | undefined;
  /** Undefined: not followed now. */
  #number: number | undefined;
  /** Behind the last item that came; undefined before ready. */
  #at: Position | undefined;
  /** Followed again: what its ready must say. */
  #expected: Position | undefined;
  #waiting: StreamMessage<MessageShape<O>>[] = [];
  #waitingBytes = 0;
  #end: { readonly cause: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  /** A reader that is only a few promises behind is not slow. */
  readonly #slow = new Batch(() => this.#pauseIfFull());

  constructor(parts: Parts<I, O>) {
    this.#parts = parts;
  }

  http(): HttpProgress | undefined {
    if (this.#own !== undefined) return this.#own.http();
    return this.#streams === undefined ? "connecting" : "answered";
  }

  readonly probe = async (signal: AbortSignal): Promise<unknown> => {
    if (this.#own !== undefined) return this.#own.probe?.(signal);
    if (this.#streams === undefined || (await this.#streams.end.ask())) return undefined;
    throw new ConnectionFault("no-reply", "the WebSocket gives no sign", { sent: true });
  };

  async next(): Promise<StreamBatch<MessageShape<O>> | undefined> {
    for (;;) {
      if (this.#own !== undefined) return this.#nextOfOwn(this.#own);
      if (this.#waiting.length > 0) return this.#taken();
      if (this.#end !== undefined) {
        if (this.#end.cause !== undefined) throw this.#end.cause;
        return undefined;
      }
      if (this.#streams === undefined) await this.#open();
      else if (this.#number === undefined) this.#follow(this.#streams, this.#at);
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  close(broken: boolean): void {
    const { shared, opening } = this.#parts;
    const reason: unknown = opening.signal.reason;
    const streams = this.#streams;
    this.#own?.close(broken);
    if (streams !== undefined) {
      if (this.#number !== undefined) streams.unfollow(this.#number);
      // One that never opened may have a slow handler; one that was open has had a sign of the wire until now.
      const silent = reason instanceof ConnectionFault && reason.kind === "no-reply";
      if (broken && silent && this.#at !== undefined) shared.silent(streams);
    }
    this.over(undefined);
  }

  said(kind: ServerMessage["kind"]): void {
    const { followed, openOwn, onAlone } = this.#parts;
    const streams = this.#streams;
    if (streams === undefined || this.#end !== undefined) return;
    try {
      const message = streamMessage(kind, streams.end.codec, followed.definition);
      if (message === undefined) return;
      if (message.kind === "ready" && message.at === undefined) {
        this.#unfollow(streams);
        onAlone();
        this.#own = openOwn();
        this.#wakeUp();
        return;
      }
      if (message.kind === "end") {
        if (message.error?.code === Code.Unauthenticated) this.#parts.shared.retire(streams);
        this.#number = undefined;
        this.#put(message);
        this.over(undefined);
      } else if (!this.#isExpected(message)) {
        const item = kind.case === "item" ? kind.value.item : undefined;
        const byteCount = item === undefined ? 0 : payloadBytes(item);
        if (this.#offered(message, byteCount)) return;
        this.#put(message);
        this.#waitingBytes += byteCount;
        if (this.#isFull) this.#slow.mark();
      }
    } catch (error) {
      this.#unfollow(streams);
      this.over(error instanceof Error ? error : new Error(String(error)));
    }
  }

  over(cause: Error | undefined): void {
    this.#number = undefined;
    this.#end ??= { cause };
    this.#wakeUp();
  }

  heard(atMs: number): void {
    this.#parts.opening.onByte(atMs);
  }

  async #open(): Promise<void> {
    const { shared, followed, opening, openOwn } = this.#parts;
    if (shared.isUsable()) {
      try {
        const { streams, header } = await shared.join(
          opening.token,
          followed.definition.idleMs,
          opening.signal,
        );
        if (this.#end !== undefined) return;
        this.#streams = streams;
        followed.onHeader?.(header);
        this.#follow(streams, opening.after);
        return;
      } catch (error) {
        if (shared.isUsable() || opening.signal.aborted) throw error;
      }
    }
    this.#own = openOwn();
  }

  /** As the first time, or again behind what came. */
  #follow(streams: WireStreams, after: Position | undefined): void {
    const { followed } = this.#parts;
    this.#expected = this.#at;
    this.#number = streams.follow(this, (number) =>
      followMessage(number, followed, after, streams.end.codec),
    );
  }

  #unfollow(streams: WireStreams): void {
    if (this.#number !== undefined) streams.unfollow(this.#number);
    this.#number = undefined;
  }

  /** What only says that the stream goes on where it was, the loop need not hear. Moves the place. */
  #isExpected(message: Exclude<StreamMessage<unknown>, { kind: "end" }>): boolean {
    if (message.kind !== "ready") {
      if (this.#at !== undefined) this.#at = { epoch: this.#at.epoch, seq: message.seq };
      return false;
    }
    const { at, restarted } = message;
    const expected = this.#expected;
    this.#expected = undefined;
    if (expected === undefined) {
      this.#at = at;
      return false;
    }
    if (!restarted && at?.epoch === expected.epoch && at.seq === expected.seq) return true;
    // Another numbering: where the program stands in it, only the loop can say.
    if (this.#streams !== undefined) this.#unfollow(this.#streams);
    this.#put({ kind: "end", again: true, afterMs: 0, lagged: true, error: undefined });
    this.over(undefined);
    return true;
  }

  /** Whether the loop, which waits for what comes next, has taken this. */
  #offered(message: StreamMessage<MessageShape<O>>, byteCount: number): boolean {
    if (message.kind !== "item" || this.#wake === undefined) return false;
    return this.#parts.opening.offer(message.seq, message.item, byteCount);
  }

  #put(message: StreamMessage<MessageShape<O>>): void {
    this.#waiting.push(message);
    this.#wakeUp();
  }

  #taken(): StreamBatch<MessageShape<O>> {
    const batch = { messages: this.#waiting, byteCount: this.#waitingBytes };
    this.#waiting = [];
    this.#waitingBytes = 0;
    return batch;
  }

  get #isFull(): boolean {
    const { roomCount } = this.#parts.followed.definition;
    return this.#waiting.length >= roomCount || this.#waitingBytes >= waitingBytesMost;
  }

  #pauseIfFull(): void {
    if (this.#isFull && this.#streams !== undefined) this.#unfollow(this.#streams);
  }

  async #nextOfOwn(
    own: StreamConnection<MessageShape<O>>,
  ): ReturnType<StreamConnection<MessageShape<O>>["next"]> {
    try {
      const batch = await untilAborted(own.next(), this.#parts.opening.signal);
      this.#ownGave = true;
      return batch;
    } catch (error) {
      if (!this.#ownGave && faultIn(error) !== undefined) this.#parts.shared.unblock();
      throw error;
    }
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
