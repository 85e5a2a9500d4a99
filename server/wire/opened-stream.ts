/**
 * A stream that was asked for and whose handler has answered, over whatever carries it: an HTTP answer of its own or a
 * wire with others.
 *
 * Source: design "Streams".
 */
import { create } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  type Follow,
  ReadySchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { LateSignal } from "../../runtime/base/late-signal.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { lostMessage, type StreamSource } from "../topic/source.ts";
import type { WireGuest } from "./greet.ts";

/** What a client wants to follow, after hello. */
export interface FollowAsked {
  readonly guest: WireGuest;
  readonly follow: Follow;
  /** Headers of the HTTP request. */
  readonly header: Headers;
  /** The codec that the request inside is packed with. */
  readonly codec: Codec;
  /** Aborts when the stream ends. */
  readonly stop: LateSignal;
}

/** A stream whose handler has been asked. */
export interface OpenedStream {
  readonly source: StreamSource;
  /** The error that the client gets for something that the handler threw. */
  errorOf(thrown: unknown): ConnectError;
  /** It has ended. */
  close(): void;
}

/** What is said of a stream that opens. */
export function openingMessages(stream: number, source: StreamSource): ServerMessage[] {
  const { at, restarted, lost } = source;
  const value = create(ReadySchema, { stream, restarted, ...(at === undefined ? {} : { at }) });
  const ready = create(ServerMessageSchema, { kind: { case: "ready", value } });
  return lost === undefined ? [ready] : [ready, lostMessage(stream, lost)];
}
