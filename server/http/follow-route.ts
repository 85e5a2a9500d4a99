/**
 * `LinkService.Follow` by the Connect protocol, written straight to Node's answer. Thousands of streams may be open
 * and quiet, and each item goes to all of them: Connect's chain of iterables, headers and signals would cost more for
 * each than all else.
 *
 * It takes what every client of ours sends, and hands on the rest as it came: gRPC, gRPC-Web, a compressed or broken
 * body, a timeout. Connect's own handler answers those, and says what is wrong.
 *
 * Source: design "Wire: Services"; `docs/decisions/008-followers-without-queues.md`.
 */
import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { LinkService, PacketSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import { nextTurn } from "../../runtime/base/turn.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import { setAnswerHeaders } from "./answer-headers.ts";
import type { Cors } from "./cors.ts";
import type { NodeRequest, NodeResponse } from "./node-listener.ts";
import { headersOf, namesHost } from "./request-head.ts";
import type { StalledWrites } from "./stalled-writes.ts";

/** What answers a Follow: packets go to the sink until its end. */
export type ServeFollow = (
  request: Uint8Array,
  origin: { readonly header: Headers; readonly address: string | undefined; readonly via: "wire" },
  sink: { readonly full: boolean; write(packet: Uint8Array): void; end(): void },
) => { room(): void; gone(reason?: unknown): void };

export interface FollowRouteParts {
  readonly serve: ServeFollow;
  readonly cors: Cors;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  /** Aborts what is open: the last seconds of a drain. */
  readonly shutdown: AbortSignal;
  readonly limits: Pick<Limits, "bodyWaitMs">;
  readonly clock: Clock;
}

/** A request that is not for this route, with as much of its body as was read. */
export type HandOn = (body: AsyncIterable<Uint8Array>) => void;

const path = `/${LinkService.typeName}/${LinkService.method.follow.name}`;
const formats = { "application/connect+proto": "proto", "application/connect+json": "json" } as const;
type Format = (typeof formats)[keyof typeof formats];

/** Flags of an envelope that ends a stream of Connect. */
const endFlags = 0b10;
const envelopeHeadBytes = 5;
/** The tag of `Packet.data`: field 1, bytes. */
const dataTag = 0x0a;
/** A request is no larger, with its envelope. As JSON it has its data in base64. */
const requestBytesMost = Math.ceil((packetBytesMost * 4) / 3) + 64;

export class FollowRoute {
  readonly #parts: FollowRouteParts;
  readonly #open = new Set<Answer>();
  readonly #envelopes: Readonly<Record<Format, LastEnvelope>> = {
    proto: new LastEnvelope(protoPacket),
    json: new LastEnvelope(jsonPacket),
  };

  constructor(parts: FollowRouteParts) {
    this.#parts = parts;
    parts.shutdown.addEventListener("abort", () => {
      for (const answer of this.#open) answer.shutDown(parts.shutdown.reason);
    });
  }

  /** Whether a request is one of those that this route looks at. */
  takes(request: NodeRequest): boolean {
    const { method, url, headers } = request;
    return (
      url === path &&
      method === "POST" &&
      (headers["content-type"] ?? "") in formats &&
      (headers["connect-content-encoding"] ?? "identity") === "identity" &&
      headers["connect-timeout-ms"] === undefined &&
      namesHost(request) &&
      !this.#parts.shutdown.aborted
    );
  }

  /** Answers a request that it takes, or hands it on when its body is not what it looks like. */
  answer(request: NodeRequest, response: NodeResponse, stalled: StalledWrites, handOn: HandOn): void {
    const { clock, limits } = this.#parts;
    const format = formats[request.headers["content-type"] as keyof typeof formats];
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const over = (): void => {
      timer.cancel();
      request.off("data", onData);
      request.off("end", onEnd);
      response.off("close", over); // it would keep the body for as long as the answer lasts
    };
    const rest = (): void => {
      over();
      request.pause();
      handOn(joined(pieces, request));
    };
    const onData = (piece: Uint8Array): void => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > requestBytesMost) rest();
    };
    const onEnd = (): void => {
      over();
      const packet = packetIn(Buffer.concat(pieces), format);
      if (packet === undefined) handOn(joined(pieces, undefined));
      else this.#serve(packet, format, request, response, stalled);
    };
    // Connect's handler waits for the rest as long again, and then says so.
    const timer = clock.timer(limits.bodyWaitMs, rest, { background: true });
    response.once("close", over);
    request.on("data", onData);
    request.once("end", onEnd);
  }

  #serve(
    packet: Uint8Array,
    format: Format,
    request: NodeRequest,
    response: NodeResponse,
    stalled: StalledWrites,
  ): void {
    const { serve, cors, serverHeader, clock } = this.#parts;
    const header = headersOf(request);
    const head = new Headers({ "content-type": `application/connect+${format}` });
    const nowMs = Math.floor(clock.now());
    setAnswerHeaders(head, { server: serverHeader, nowMs, mark: undefined, repeat: false, tag: undefined });
    cors.allow(header, head);
    const answer = new Answer(response, Object.fromEntries(head), this.#envelopes[format]);
    this.#open.add(answer);
    stalled.add(response, answer);
    answer.begin(serve(packet, { header, address: request.socket.remoteAddress, via: "wire" }, answer), () =>
      this.#open.delete(answer),
    );
  }
}

/** Node's answer as a sink of packets. */
class Answer {
  full = false;
  /** Pieces that the connection has taken, for who watches for stalled ones. */
  pieces = 0;
  waitedAt: number | undefined;
  readonly #response: NodeResponse;
  readonly #envelope: LastEnvelope;
  #head: Record<string, string> | undefined;
  #following: ReturnType<ServeFollow> | undefined;

  constructor(response: NodeResponse, head: Record<string, string>, envelope: LastEnvelope) {
    this.#response = response;
    this.#head = head;
    this.#envelope = envelope;
  }

  begin(following: ReturnType<ServeFollow>, closed: () => void): void {
    this.#following = following;
    this.#response.once("close", () => {
      closed();
      following.gone();
    });
  }

  write(packet: Uint8Array): void {
    this.#write(this.#envelope.of(packet));
  }

  end(): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#write(endOfStream);
    this.#response.end();
  }

  shutDown(reason: unknown): void {
    this.#following?.gone(reason);
    this.end();
  }

  #write(bytes: Uint8Array): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    if (this.#head !== undefined) response.writeHead(200, this.#head);
    this.#head = undefined;
    this.pieces += 1;
    // Past the compatible answer of HTTP/2, which only looks at what was looked at already.
    const stream = "stream" in response ? response.stream : response;
    if (stream.write(bytes) || this.full) return;
    this.full = true;
    stream.once("drain", this.#drained);
  }

  readonly #drained = (): void => {
    // A socket may take all at once, and a stream that has always more would leave no turn to anybody.
    nextTurn(() => {
      this.full = false;
      this.#following?.room();
    });
  };
}

/** The same packet goes to all followers in a row: its envelope is made for the first. */
class LastEnvelope {
  readonly #make: (packet: Uint8Array) => Uint8Array;
  #packet: Uint8Array | undefined;
  #bytes: Uint8Array = new Uint8Array();

  constructor(make: (packet: Uint8Array) => Uint8Array) {
    this.#make = make;
  }

  of(packet: Uint8Array): Uint8Array {
    if (this.#packet !== packet) {
      this.#bytes = this.#make(packet);
      this.#packet = packet;
    }
    return this.#bytes;
  }
}

function protoPacket(packet: Uint8Array): Uint8Array {
  const length: number[] = [dataTag];
  let left = packet.length;
  for (; left > 0x7f; left >>>= 7) length.push((left & 0x7f) | 0x80);
  length.push(left);
  return envelope(0, [Uint8Array.from(length), packet]);
}

function jsonPacket(packet: Uint8Array): Uint8Array {
  return envelope(0, [Buffer.from(`{"data":"${base64Encode(packet)}"}`)]);
}

const endOfStream = envelope(endFlags, [Buffer.from("{}")]);

function envelope(flags: number, parts: readonly Uint8Array[]): Uint8Array {
  const bodyBytes = parts.reduce((bytes, part) => bytes + part.length, 0);
  const head = Buffer.alloc(envelopeHeadBytes);
  head[0] = flags;
  head.writeUInt32BE(bodyBytes, 1);
  return Buffer.concat([head, ...parts], envelopeHeadBytes + bodyBytes);
}

/** The packet of a body that is one envelope with one message; undefined: it is not. */
function packetIn(body: Buffer, format: Format): Uint8Array | undefined {
  if (body.length < envelopeHeadBytes || body[0] !== 0) return undefined;
  if (body.readUInt32BE(1) !== body.length - envelopeHeadBytes) return undefined;
  const bytes = body.subarray(envelopeHeadBytes);
  if (bytes.length > packetBytesMost) return undefined;
  try {
    return format === "proto"
      ? fromBinary(PacketSchema, bytes).data
      : fromJsonString(PacketSchema, bytes.toString("utf8"), { ignoreUnknownFields: true }).data;
  } catch {
    return undefined;
  }
}

/** A body that was read in part, from its beginning. */
async function* joined(
  pieces: readonly Uint8Array[],
  rest: NodeRequest | undefined,
): AsyncGenerator<Uint8Array> {
  yield* pieces;
  if (rest !== undefined) yield* rest.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
}
