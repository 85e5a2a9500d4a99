/**
 * Follow over Connect: a stream's connection that works in every browser and through every proxy. The request is
 * one packet, hello and follow; the answer is packets until the end.
 *
 * Source: design "Wires"; `Follow` of link.proto.
 */
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ContextValues, ConnectError } from "@connectrpc/connect";
import {
  type ClientMessage,
  ClientMessageSchema,
  FollowSchema,
  HeaderSchema,
  LinkService,
  type PacketSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { StreamDefinition } from "../base/definition.ts";
import { takeOffered } from "../base/offering.ts";
import { oneRequest } from "../base/plain-streams.ts";
import { headerNames, tryHeaders } from "../call/headers.ts";
import type { Codec } from "../codec/codec.ts";
import { CodecError } from "../codec/codec-error.ts";
import { helloMessage } from "../wire/handshake.ts";
import { payloadOf, readPacket, writePacket } from "../wire/packet.ts";
import type { OwnConnections, StreamEnvironment } from "./stream-environment.ts";
import type {
  StreamBatch,
  StreamConnection,
  StreamDialer,
  StreamMessage,
  StreamOpening,
} from "./stream-connection.ts";
import type { Position } from "./resume-point.ts";
import { streamMessage } from "./stream-message.ts";

/** What is followed. */
export interface Followed<I extends DescMessage, O extends DescMessage> {
  readonly definition: StreamDefinition<I, O>;
  readonly request: MessageShape<I>;
  readonly headers: Headers;
  readonly contextValues: ContextValues | undefined;
  readonly onHeader: ((header: Headers) => void) | undefined;
  readonly onTrailer: ((trailer: Headers) => void) | undefined;
}

/** On each wire that carries one stream, its number. */
const streamNumber = 1;

export function followDialer<I extends DescMessage, O extends DescMessage>(
  env: StreamEnvironment,
  followed: Followed<I, O>,
): StreamDialer<MessageShape<O>> {
  const slot = env.newSlot();
  let own: OwnConnections | undefined;
  const closeOwn = (): void => {
    own?.close();
    own = undefined;
  };
  return {
    open: (opening) => {
      own ??= env.openOwn();
      const packet = firstPacket(env, followed, opening, slot);
      return new FollowConnection(env, followed, opening, own, packet, closeOwn);
    },
    close: closeOwn,
  };
}

function firstPacket<I extends DescMessage, O extends DescMessage>(
  env: StreamEnvironment,
  followed: Followed<I, O>,
  { token, after, generation }: StreamOpening<MessageShape<O>>,
  slot: string,
): Uint8Array {
  const { idleMs } = followed.definition;
  const { linkId: link, codec, session, build } = env;
  const anon = token === undefined ? env.anonymous : undefined;
  return writePacket(codec, ClientMessageSchema, [
    helloMessage({ codec, link, slot, generation, session, build, token, anon, idleMs }),
    followMessage(streamNumber, followed, after, codec),
  ]);
}

/** Opens the stream of this number behind a place. */
export function followMessage<I extends DescMessage, O extends DescMessage>(
  stream: number,
  { definition, request, headers }: Followed<I, O>,
  after: Position | undefined,
  codec: Codec,
): ClientMessage {
  const { method } = definition;
  const value = create(FollowSchema, {
    stream,
    method: `${method.parent.typeName}.${method.name}`,
    request: payloadOf(codec, method.input, request),
    ...(after === undefined ? {} : { after }),
    headers: [...headers].map(([name, value]) => create(HeaderSchema, { name, value })),
  });
  return create(ClientMessageSchema, { kind: { case: "follow", value } });
}

class FollowConnection<I extends DescMessage, O extends DescMessage>
  implements StreamConnection<MessageShape<O>>
{
  readonly probe: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  readonly #env: StreamEnvironment;
  readonly #followed: Followed<I, O>;
  readonly #opening: StreamOpening<MessageShape<O>>;
  readonly #packet: Uint8Array;
  readonly #begun: ReturnType<OwnConnections["begin"]>;
  readonly #closeOwn: () => void;
  #packets: AsyncIterator<MessageShape<typeof PacketSchema>, undefined> | undefined;
  #onTrailer: (() => void) | undefined;

  constructor(
    env: StreamEnvironment,
    followed: Followed<I, O>,
    opening: StreamOpening<MessageShape<O>>,
    own: OwnConnections,
    packet: Uint8Array,
    closeOwn: () => void,
  ) {
    this.#env = env;
    this.#followed = followed;
    this.#opening = opening;
    this.#packet = packet;
    this.#begun = own.begin(() => opening.onByte(env.clock.monotonic()));
    this.probe = own.reach;
    this.#closeOwn = closeOwn;
  }

  http(): ReturnType<StreamConnection<unknown>["http"]> {
    return this.#begun.http();
  }

  async next(): Promise<StreamBatch<MessageShape<O>> | undefined> {
    this.#packets ??= await this.#open();
    const { done, value } = await this.#packets.next();
    if (done === true) {
      this.#onTrailer?.();
      return undefined;
    }
    const { data } = value;
    const { definition } = this.#followed;
    const messages: StreamMessage<MessageShape<O>>[] = [];
    for (const { kind } of this.#read(data)) {
      const message = streamMessage(kind, this.#env.codec, definition);
      if (message !== undefined) messages.push(message);
    }
    return { messages, byteCount: data.byteLength };
  }

  close(broken: boolean): void {
    // Its opening's signal ends what is under way; who was reading hears of it there.
    this.#packets?.return?.().catch(() => undefined);
    if (broken) this.#closeOwn();
  }

  async #open(): Promise<AsyncIterator<MessageShape<typeof PacketSchema>, undefined>> {
    const { token, signal } = this.#opening;
    const headers = tryHeaders(undefined, this.#env, token);
    const response = await this.#begun.transport.stream(
      LinkService.method.follow,
      signal,
      undefined,
      headers,
      oneRequest({ data: this.#packet }),
      this.#followed.contextValues,
    );
    if (!response.header.has(headerNames.server)) throw notHoldfast();
    this.#env.heard(response.header, token);
    this.#followed.onHeader?.(response.header);
    this.#onTrailer = () => this.#followed.onTrailer?.(response.trailer);
    takeOffered<MessageShape<typeof PacketSchema>>(response.message, ({ data }) => this.#offered(data));
    return response.message[Symbol.asyncIterator]();
  }

  /** Whether a packet was one item, and the loop has taken it. */
  #offered(data: Uint8Array): boolean {
    const message = this.#onlyItemIn(data);
    return message?.kind === "item" && this.#opening.offer(message.seq, message.item, data.byteLength);
  }

  /** Undefined for all else; what is wrong with a packet, `next` says. */
  #onlyItemIn(data: Uint8Array): StreamMessage<MessageShape<O>> | undefined {
    try {
      const [only, ...more] = readPacket(this.#env.codec, ServerMessageSchema, data);
      if (only?.kind.case !== "item" || more.length > 0) return undefined;
      return streamMessage(only.kind, this.#env.codec, this.#followed.definition);
    } catch {
      return undefined;
    }
  }

  /** Bytes that are no packet came from something that is not our server. */
  #read(data: Uint8Array): readonly ServerMessage[] {
    try {
      return readPacket(this.#env.codec, ServerMessageSchema, data);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      const text = `a packet that cannot be read: ${error.message}`;
      throw new ConnectionFault("not-our-answer", text, { sent: true, cause: error });
    }
  }
}

/** A success of a server that is not one of ours; sorted like its errors. */
function notHoldfast(): ConnectError {
  return new ConnectError("an answer without the header holdfast-server");
}
