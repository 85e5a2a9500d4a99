/**
 * `LinkService.Follow`: one stream as packets over one HTTP answer.
 *
 * It is a generator, and Connect asks it for the next packet when the last one is written. So a client that does not
 * read costs nothing here: what is published meanwhile stays in the topic's ring, once for all, until this stream is
 * too far behind and ends with `lagged`.
 *
 * Source: design "Streams", "Wire: Services"; reliability decisions D43-D46.
 */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Follow,
  KeepaliveSchema,
  type Packet,
  PacketSchema,
  ReadySchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import { streamAgeMs } from "../../runtime/base/constants.ts";
import type { Random } from "../../runtime/base/random.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { onAbort } from "../../runtime/base/signals.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { readHello, welcomeMessage } from "../../runtime/wire/handshake.ts";
import { toLinkError } from "../../runtime/wire/link-error.ts";
import { writePacket } from "../../runtime/wire/packet.ts";
import { endMessage } from "../../runtime/wire/server-end.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import { lostMessage, type StreamSource } from "../topic/source.ts";
import { greet, type GreetParts, type WireGuest, type WireOrigin } from "./greet.ts";

/** What a client wants to follow, after hello. */
export interface FollowAsked {
  readonly guest: WireGuest;
  readonly follow: Follow;
  /** Headers of the HTTP request. */
  readonly header: Headers;
  /** The codec that the request inside is packed with. */
  readonly codec: Codec;
  /** Aborts when the stream ends. */
  readonly signal: AbortSignal;
}

/** A stream whose handler has been asked. */
export interface OpenedStream {
  readonly source: StreamSource;
  /** The error that the client gets for something that the handler threw. */
  errorOf(thrown: unknown): ConnectError;
  /** It has ended. */
  close(): void;
}

export interface FollowParts {
  readonly greeting: GreetParts;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  /** Asks the handler. Rejects with the ConnectError that the client gets. */
  open(asked: FollowAsked): Promise<OpenedStream>;
  /** Takes a stream in among those that are open, for who may end it so that its client comes back. */
  enroll(guest: WireGuest, comeBack: (afterMs: number) => void): { leave(): void };
  readonly clock: Clock;
  readonly random: Random;
}

/** Serves one Follow: the packets of its answer. Never throws. */
export async function* followRpc(
  request: Packet,
  origin: WireOrigin & { readonly signal: AbortSignal },
  parts: FollowParts,
): AsyncGenerator<Packet> {
  let follow: Follow;
  let guest: WireGuest;
  try {
    const { hello, rest } = readHello(request.data);
    follow = onlyFollow(rest);
    guest = await greet(hello, origin, parts.greeting);
  } catch (error) {
    yield packed(jsonCodec, [endMessage({ error: toLinkError(ConnectError.from(error)) })]);
    return;
  }
  const run = new FollowRun({ guest, stream: follow.stream, ...parts, signal: origin.signal });
  const seat = parts.enroll(guest, (afterMs) => run.comeBack(afterMs));
  let opened: OpenedStream | undefined;
  try {
    const welcome = welcomeMessage({
      server: parts.serverHeader,
      nowMs: Math.floor(parts.clock.now()),
      caller: guest.tag,
      idleMs: guest.idleMs, // the client has nothing more to say
    });
    try {
      opened = await parts.open({
        guest,
        follow,
        header: origin.header,
        codec: jsonCodec,
        signal: run.signal,
      });
    } catch (error) {
      yield packed(jsonCodec, [welcome, run.failed(ConnectError.from(error))]);
      return;
    }
    yield packed(jsonCodec, [welcome, ...openingMessages(follow.stream, opened.source)]);
    yield* run.packets(opened);
  } finally {
    seat.leave();
    run.end();
    opened?.close();
  }
}

function onlyFollow(
  rest: readonly { readonly kind: { readonly case?: string | undefined; readonly value?: unknown } }[],
): Follow {
  const [first, ...more] = rest;
  if (first?.kind.case !== "follow" || more.length > 0) {
    throw new ConnectError(
      "the request of Follow is one packet of hello and one follow",
      Code.InvalidArgument,
    );
  }
  const follow = first.kind.value as Follow;
  if (follow.stream === 0) throw new ConnectError("follow.stream must be above 0", Code.InvalidArgument);
  return follow;
}

/** What is said of a stream that opens. */
export function openingMessages(stream: number, source: StreamSource): ServerMessage[] {
  const { at, restarted, lost } = source;
  const value = create(ReadySchema, { stream, restarted, ...(at === undefined ? {} : { at }) });
  const ready = create(ServerMessageSchema, { kind: { case: "ready", value } });
  return lost === undefined ? [ready] : [ready, lostMessage({ stream, ...lost })];
}

function packed(codec: Codec, messages: readonly ServerMessage[]): Packet {
  return packetOf(writePacket(codec, ServerMessageSchema, messages));
}

function packetOf(data: Uint8Array): Packet {
  return create(PacketSchema, { data });
}

interface RunParts extends Pick<FollowParts, "clock" | "random"> {
  readonly guest: WireGuest;
  readonly stream: number;
  readonly signal: AbortSignal;
}

/** One stream that is open: when it waits, gives a sign, ends. */
class FollowRun {
  readonly #parts: RunParts;
  readonly #stop = new AbortController();
  readonly #forget: () => void;
  readonly #signMs: number;
  /** Monotonic ms at which it is old enough to begin anew. */
  readonly #oldAt: number;
  #saidAt: number;
  /** The client is to come back after so many ms. */
  #comeBackMs: number | undefined;
  #wake: (() => void) | undefined;
  readonly #woken = (): void => {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };
  #timer: Timer | undefined;
  #timerAt = 0;

  constructor(parts: RunParts) {
    const { clock, random, guest } = parts;
    this.#parts = parts;
    this.#forget = onAbort(parts.signal, (reason) => {
      this.#stop.abort(reason);
      this.#woken();
    });
    this.#signMs = guest.idleMs / 3;
    this.#saidAt = clock.monotonic();
    this.#oldAt = this.#saidAt + streamAgeMs * (0.9 + 0.2 * random.fraction());
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The stream ends, and there is more: its client comes back. */
  comeBack(afterMs: number): void {
    this.#comeBackMs ??= afterMs;
    this.#woken();
  }

  end(): void {
    this.#timer?.cancel();
    this.#stop.abort();
    this.#forget();
  }

  failed(error: ConnectError): ServerMessage {
    return endMessage({ stream: this.#parts.stream, error: toLinkError(error) });
  }

  async *packets(opened: OpenedStream): AsyncGenerator<Packet> {
    const { guest, stream, clock } = this.#parts;
    const { source } = opened;
    const { codec } = guest;
    while (!this.signal.aborted) {
      if (clock.monotonic() >= this.#oldAt) this.#comeBackMs ??= 0;
      if (this.#comeBackMs !== undefined) {
        yield packed(codec, [endMessage({ stream, again: true, afterMs: Math.round(this.#comeBackMs) })]);
        return;
      }
      const taken = source.take();
      switch (taken.kind) {
        case "items": {
          let packet: Packet;
          try {
            packet = packetOf(fitting(taken.batch.packet(codec, stream)));
          } catch (error) {
            yield packed(codec, [this.failed(opened.errorOf(error))]);
            return;
          }
          yield packet;
          this.#saidAt = clock.monotonic();
          break;
        }
        case "nothing":
          if (await this.#quiet(source)) {
            yield packed(codec, [keepalive(clock)]);
            this.#saidAt = clock.monotonic();
          }
          break;
        case "lagged":
          yield packed(codec, [endMessage({ stream, again: true, lagged: true })]);
          return;
        case "done":
          yield packed(codec, [endMessage({ stream })]);
          return;
        case "failed":
          yield packed(codec, [this.failed(opened.errorOf(taken.error))]);
          return;
      }
    }
  }

  /** Waits for something to do; true when the client has waited long enough for a sign. */
  async #quiet(source: StreamSource): Promise<boolean> {
    const { clock } = this.#parts;
    const signAt = this.#saidAt + this.#signMs;
    this.#timeAt(Math.min(signAt, this.#oldAt));
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      source.wait(this.#woken);
      if (this.signal.aborted || this.#comeBackMs !== undefined) this.#woken();
    });
    return clock.monotonic() >= signAt && this.#comeBackMs === undefined && !this.signal.aborted;
  }

  /** Wakes at an instant. A timer that comes sooner stays: most waits end before it, and it costs nothing then. */
  #timeAt(at: number): void {
    if (this.#timer !== undefined && this.#timerAt <= at) return;
    const { clock } = this.#parts;
    this.#timer?.cancel();
    this.#timerAt = at;
    const due = (): void => {
      this.#timer = undefined;
      this.#woken();
    };
    this.#timer = clock.timer(Math.max(0, at - clock.monotonic()), due, { background: true });
  }
}

function fitting(packet: Uint8Array): Uint8Array {
  if (packet.length <= packetBytesMost) return packet;
  throw serverError("TOO_LARGE", `an item of the stream makes a packet of ${packet.length} bytes`);
}

function keepalive(clock: Clock): ServerMessage {
  const value = create(KeepaliveSchema, { nowMs: Math.floor(clock.now()) });
  return create(ServerMessageSchema, { kind: { case: "keepalive", value } });
}
