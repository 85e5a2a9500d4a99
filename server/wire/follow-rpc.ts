/**
 * `LinkService.Follow`: one stream as packets over one HTTP answer. Its request is one packet, hello and a follow; what
 * follows is a run of the stream (`follow-run.ts`) that writes to whatever carries the answer.
 *
 * Source: design "Streams", "Wire: Services".
 */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Follow,
  type Packet,
  PacketSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Random } from "../../runtime/base/random.ts";
import { onAbort } from "../../runtime/base/signals.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { codecOfHello, readHello, welcomeMessage } from "../../runtime/wire/handshake.ts";
import { toLinkError } from "../../runtime/wire/link-error.ts";
import { writePacket } from "../../runtime/wire/packet.ts";
import { endMessage } from "../../runtime/wire/server-end.ts";
import { DueQueue } from "./due-queue.ts";
import { failureOf, FollowRun, type PacketSink } from "./follow-run.ts";
import { greet, type GreetParts, type WireGuest, type WireOrigin } from "./greet.ts";
import { type FollowAsked, type OpenedStream, openingMessages } from "./opened-stream.ts";

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

/** A Follow that is being answered, as whoever carries its answer tells it of the connection. */
export interface Following {
  /** The sink is not full any more. */
  room(): void;
  /** The client is gone, or the server ends. */
  gone(reason?: unknown): void;
}

/** Serves the Follows of a server. */
export class FollowServing {
  readonly #parts: FollowParts;
  readonly #queue: DueQueue;

  constructor(parts: FollowParts) {
    this.#parts = parts;
    this.#queue = new DueQueue(parts.clock);
  }

  /** Answers one: packets go to the sink until its end. */
  serve(request: Uint8Array, origin: WireOrigin, sink: PacketSink): Following {
    const place: Place = { run: undefined, gone: false };
    // What is thrown beyond what it expects is a fault of this server, and the connection's end.
    this.#serve(request, origin, sink, place).catch(() => {
      place.run?.gone();
      sink.end();
    });
    return {
      room: () => place.run?.room(),
      gone(reason) {
        place.gone = true;
        place.run?.gone(reason);
      },
    };
  }

  async #serve(request: Uint8Array, origin: WireOrigin, sink: PacketSink, place: Place): Promise<void> {
    const first = codecOfHello(request);
    let follow: Follow;
    let guest: WireGuest;
    try {
      const { hello, rest } = readHello(request);
      follow = onlyFollow(rest);
      guest = await greet(hello, origin, this.#parts.greeting);
    } catch (error) {
      if (place.gone) return;
      sink.write(packed(first, [endMessage({ error: toLinkError(ConnectError.from(error)) })]));
      sink.end();
      return;
    }
    if (!place.gone) await this.#run(follow, guest, first, origin, sink, place);
  }

  async #run(
    follow: Follow,
    guest: WireGuest,
    first: Codec,
    origin: WireOrigin,
    sink: PacketSink,
    place: Place,
  ): Promise<void> {
    const parts = this.#parts;
    const { clock, random, serverHeader } = parts;
    const { stream } = follow;
    const { codec, idleMs } = guest;
    const onOver = (): void => seat.leave();
    const run = new FollowRun({ stream, codec, idleMs, sink, clock, random, queue: this.#queue, onOver });
    const seat = parts.enroll(guest, (afterMs) => run.comeBack(afterMs));
    place.run = run;
    const welcome = welcomeMessage({
      server: serverHeader,
      nowMs: Math.floor(clock.now()),
      caller: guest.tag,
      idleMs, // the client has nothing more to say
    });
    let opened: OpenedStream;
    try {
      opened = await parts.open({ guest, follow, header: origin.header, codec: first, stop: run.stop });
    } catch (error) {
      if (run.over) return;
      sink.write(packed(first, [welcome, failureOf(stream, ConnectError.from(error))]));
      sink.end();
      run.gone();
      return;
    }
    if (run.over) {
      opened.close();
      return;
    }
    sink.write(packed(first, [welcome, ...openingMessages(stream, opened.source)]));
    run.open(opened);
  }
}

interface Place {
  run: FollowRun | undefined;
  gone: boolean;
}

/** Takes a packet at a time. */
class PulledSink implements PacketSink {
  readonly #waiting: Uint8Array<ArrayBuffer>[] = [];
  #busy = false;
  #over = false;
  #wake: () => void = () => undefined;

  get full(): boolean {
    return this.#busy || this.#waiting.length > 0;
  }

  write(packet: Uint8Array): void {
    this.#waiting.push(packet as Uint8Array<ArrayBuffer>);
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  /** Undefined: it was the last. */
  async next(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      const packet = this.#waiting.shift();
      if (packet !== undefined) this.#busy = true;
      if (packet !== undefined || this.#over) return packet;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The last one has left. */
  taken(): void {
    this.#busy = false;
  }
}

/** The same as packets that are asked for one by one, for a transport that does so. Never throws. */
export async function* followPackets(
  request: Packet,
  origin: WireOrigin & { readonly signal: AbortSignal },
  serving: FollowServing,
): AsyncGenerator<Packet> {
  const sink = new PulledSink();
  const following = serving.serve(request.data, origin, sink);
  const forget = onAbort(origin.signal, (reason) => {
    following.gone(reason);
    sink.end();
  });
  try {
    for (let data = await sink.next(); data !== undefined; data = await sink.next()) {
      yield create(PacketSchema, { data: data });
      sink.taken();
      following.room();
    }
  } finally {
    forget();
    following.gone();
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

function packed(codec: Codec, messages: readonly ServerMessage[]): Uint8Array {
  return writePacket(codec, ServerMessageSchema, messages);
}
