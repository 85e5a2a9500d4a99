/**
 * One Follow that is open: it takes from its source while its connection has room, gives a sign when it was quiet for
 * long, and ends. So a client that does not read costs nothing: what is published meanwhile stays in the topic's ring,
 * once for all, until this stream is too far behind and ends with `lagged`.
 *
 *   opening ──open──▶ giving ◀──room, more, sign──▶ waiting ──done, lagged, failed, age, drain──▶ over
 *
 * Thousands may be open and quiet. So it is a few fields, called by its source, its connection and one queue for all,
 * and has no promise, timer or signal of its own.
 *
 * Source: design "Streams", "Wire: Services"; reliability decisions D43-D46.
 */
import type { ConnectError } from "@connectrpc/connect";
import { type ServerMessage, ServerMessageSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import { streamAgeMs } from "../../runtime/base/constants.ts";
import { LateSignal } from "../../runtime/base/late-signal.ts";
import type { Random } from "../../runtime/base/random.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { toLinkError } from "../../runtime/wire/link-error.ts";
import { writePacket } from "../../runtime/wire/packet.ts";
import { endMessage } from "../../runtime/wire/server-end.ts";
import type { Taken } from "../topic/source.ts";
import type { Due, DueQueue } from "./due-queue.ts";
import type { OpenedStream } from "./opened-stream.ts";

/** The answer to a Follow, as whoever carries it takes its packets. */
export interface PacketSink {
  /** It takes no more before it has said that there is room. */
  readonly full: boolean;
  /** The bytes may go to others too. */
  write(packet: Uint8Array): void;
  /** Nothing comes after this. */
  end(): void;
}

export interface FollowRunParts {
  readonly stream: number;
  readonly codec: Codec;
  /** Ms of silence after which the client takes the stream for dead. */
  readonly idleMs: number;
  readonly sink: PacketSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: DueQueue;
  /** It is over, however that came. */
  readonly onOver: () => void;
}

export class FollowRun implements Due {
  /** Aborts when the stream ends. */
  readonly stop: LateSignal = new LateSignal();
  dueAt = 0;
  place = -1;
  readonly #parts: FollowRunParts;
  /** Monotonic ms at which it is old enough to begin anew. */
  readonly #oldAt: number;
  #saidAt: number;
  #opened: OpenedStream | undefined;
  /** What was taken, and found no room. */
  #rest: readonly Uint8Array[] = [];
  /** The client is to come back after so many ms. */
  #comeBackMs: number | undefined;
  /** Its source is to call when there is more. */
  #waiting = false;
  #over = false;
  readonly #woken = (): void => {
    this.#waiting = false;
    this.#give();
  };

  constructor(parts: FollowRunParts) {
    this.#parts = parts;
    this.#saidAt = parts.clock.monotonic();
    this.#oldAt = this.#saidAt + streamAgeMs * (0.9 + 0.2 * parts.random.fraction());
  }

  get over(): boolean {
    return this.#over;
  }

  /** Its handler was asked. */
  open(opened: OpenedStream): void {
    this.#opened = opened;
    this.#give();
  }

  /** The client has taken something. */
  room(): void {
    if (this.#opened !== undefined) this.#give();
  }

  /** The stream ends, and there is more: its client comes back. */
  comeBack(afterMs: number): void {
    this.#comeBackMs ??= afterMs;
    this.room();
  }

  /** The client is gone, or the server ends: nothing more is said. */
  gone(reason?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const { queue, onOver } = this.#parts;
    queue.remove(this);
    this.#rest = [];
    this.stop.abort(reason);
    this.#opened?.close();
    this.#opened = undefined;
    onOver();
  }

  /** Ends it with a last word. */
  end(message: ServerMessage, codec: Codec = this.#parts.codec): void {
    if (this.#over) return;
    const { sink } = this.#parts;
    sink.write(writePacket(codec, ServerMessageSchema, [message]));
    sink.end();
    this.gone();
  }

  fail(error: ConnectError): void {
    this.end(failureOf(this.#parts.stream, error));
  }

  /** A sign is due, or it is old, or something was said meanwhile. */
  due(): void {
    this.#give();
  }

  /** Says what there is to say, as long as there is room. */
  #give(): void {
    const { sink, stream, clock, queue } = this.#parts;
    while (!this.#over && this.#opened !== undefined && !sink.full) {
      if (this.#rest.length > 0) {
        this.#writeOn(this.#rest);
        continue;
      }
      if (clock.monotonic() >= this.#oldAt) this.#comeBackMs ??= 0;
      if (this.#comeBackMs !== undefined) {
        this.end(endMessage({ stream, again: true, afterMs: Math.round(this.#comeBackMs) }));
        return;
      }
      if (this.#waiting || !this.#took(this.#opened, this.#opened.source.take())) break;
    }
    if (this.#over) return;
    const now = clock.monotonic();
    const signAt = this.#saidAt + this.#parts.idleMs / 3;
    if (now >= signAt && !sink.full) this.#sign(now);
    // One that comes too early stays: most waits end before it, and it costs nothing then.
    if (this.place >= 0) return;
    const nextSignAt = now < signAt ? signAt : now + this.#parts.idleMs / 3;
    queue.add(this, now < this.#oldAt ? Math.min(nextSignAt, this.#oldAt) : nextSignAt);
  }

  /** False: there is nothing to take now. */
  #took(opened: OpenedStream, taken: Taken): boolean {
    const { stream, codec } = this.#parts;
    switch (taken.kind) {
      case "items": {
        let packets: readonly Uint8Array[];
        try {
          packets = taken.batch.packets(codec, stream);
        } catch (error) {
          this.fail(opened.errorOf(error));
          return false;
        }
        this.#writeOn(packets);
        return true;
      }
      case "nothing":
        this.#waiting = true;
        opened.source.wait(this.#woken);
        return false;
      case "lagged":
        this.end(endMessage({ stream, again: true, lagged: true }));
        return false;
      case "done":
        this.end(endMessage({ stream }));
        return false;
      case "failed":
        this.fail(opened.errorOf(taken.error));
        return false;
    }
  }

  #writeOn(packets: readonly Uint8Array[]): void {
    const { sink, clock } = this.#parts;
    let written = 0;
    for (const packet of packets) {
      if (sink.full) break;
      sink.write(packet);
      written += 1;
    }
    this.#rest = written === packets.length ? noRest : packets.slice(written);
    this.#saidAt = clock.monotonic();
  }

  #sign(now: number): void {
    const { sink, codec, clock } = this.#parts;
    sink.write(writePacket(codec, ServerMessageSchema, [keepalive(clock)]));
    this.#saidAt = now;
  }
}

const noRest: readonly Uint8Array[] = [];

export function failureOf(stream: number, error: ConnectError): ServerMessage {
  return endMessage({ stream, error: toLinkError(error) });
}

function keepalive(clock: Clock): ServerMessage {
  return {
    $typeName: "holdfast.link.v1.ServerMessage",
    kind: {
      case: "keepalive",
      value: { $typeName: "holdfast.link.v1.Keepalive", nowMs: Math.floor(clock.now()), ask: false },
    },
  };
}
