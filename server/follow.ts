/**
 * From a client's follow to its handler: which method it is, what it asks for, from where, and how what the handler
 * returned is served.
 *
 * Source: design "Streams", "Wire".
 */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { Follow, Header, Packet } from "../gen/holdfast/link/v1/link_pb.ts";
import type { MethodDefinition, StreamDefinition } from "../runtime/base/definition.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import { CodecError } from "../runtime/codec/codec-error.ts";
import { messageIn } from "../runtime/wire/packet.ts";
import { createContext } from "./context.ts";
import type { DispatchParts } from "./dispatch.ts";
import { errorOfThrow } from "./handler-errors.ts";
import { addressKey } from "./http/exchange.ts";
import { StreamScope } from "./topic/stream-scope.ts";
import type { Place } from "./topic/source.ts";
import { type FollowAsked, type FollowParts, followRpc, type OpenedStream } from "./wire/follow-rpc.ts";

export interface FollowingParts extends Pick<DispatchParts, "handler" | "topics" | "clock" | "log"> {
  /** The method of a name such as "board.v1.BoardService.Tail"; undefined: there is none. */
  readonly named: (name: string) => MethodDefinition | undefined;
  /** Names the numbering of the store. */
  readonly epoch: string;
}

/** What answers `LinkService.Follow`. */
export function createFollow(
  parts: FollowingParts & Omit<FollowParts, "open">,
): (packet: Packet, context: HandlerContext) => AsyncIterable<Packet> {
  const rpc: FollowParts = { ...parts, open: (asked) => openStream(asked, parts) };
  return (packet, { requestHeader, values, signal }) =>
    followRpc(packet, { header: requestHeader, address: values.get(addressKey), via: "wire", signal }, rpc);
}

/** Asks the handler of a stream. Rejects with the ConnectError that the client gets. */
export async function openStream(asked: FollowAsked, parts: FollowingParts): Promise<OpenedStream> {
  const { guest, follow, signal } = asked;
  const definition = streamNamed(follow.method, parts);
  const errorOf = (thrown: unknown): ConnectError => errorOfThrow(thrown, definition, parts.log);
  const request = requestOf(asked, definition);
  const requestHeader = headersOf(asked.header, follow.headers);
  const { topics, epoch } = parts;
  const scope = new StreamScope({ topics, epoch, after: placeOf(follow), signal });
  const { caller, session } = guest;
  const base = {
    caller,
    session,
    deadline: undefined,
    callId: undefined,
    log: parts.log,
    clock: parts.clock,
  };
  const carried = { signal, requestHeader, responseHeader: new Headers(), responseTrailer: new Headers() };
  const context = { ...createContext(base, carried), follow: scope.follow, numbered: scope.numbered };
  try {
    const returned = await parts.handler(definition)(request, context);
    const source = await scope.serve(iterable(returned), definition.method.output);
    return { source, errorOf, close: () => scope.close() };
  } catch (error) {
    scope.close();
    throw errorOf(error);
  }
}

function streamNamed(name: string, parts: FollowingParts): StreamDefinition {
  const definition = parts.named(name);
  if (definition?.kind === "stream") return definition;
  throw serverError("NO_SUCH_METHOD", `this server has no stream "${name.slice(0, 256)}"`);
}

function requestOf({ follow, codec }: FollowAsked, { method }: StreamDefinition): unknown {
  try {
    return messageIn(codec, method.input, follow.request);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw new ConnectError(`follow.request cannot be read: ${error.message}`, Code.InvalidArgument);
  }
}

const epochCharsMost = 64;

/** The place that a client resumes from. */
function placeOf({ after }: Follow): Place | undefined {
  if (after === undefined) return undefined;
  const { epoch, seq } = after;
  if (Number.isSafeInteger(seq) && seq >= 0 && epoch !== "" && epoch.length <= epochCharsMost)
    return { epoch, seq };
  throw new ConnectError(
    `follow.after must be a place that this server has given: an epoch of 1 to ${epochCharsMost} characters, and a ` +
      "whole seq from 0",
    Code.InvalidArgument,
  );
}

const refusedHeaders: readonly string[] = ["authorization", "cookie"];
const headerCountMost = 64;

/** The headers of the request that carries it, and those that the program added. */
function headersOf(header: Headers, added: readonly Header[]): Headers {
  const headers = new Headers(header);
  if (added.length > headerCountMost)
    throw new ConnectError(`follow.headers are more than ${headerCountMost}`, Code.InvalidArgument);
  for (const { name, value } of added) {
    if (refusedHeaders.includes(name.toLowerCase())) {
      throw new ConnectError(`follow.headers has "${name}": hello alone signs in`, Code.InvalidArgument);
    }
    try {
      headers.set(name, value);
    } catch {
      throw new ConnectError("follow.headers has one that is no header", Code.InvalidArgument);
    }
  }
  return headers;
}

/** What a stream's handler must give. */
export function iterable(returned: unknown): AsyncIterable<unknown> {
  if (typeof returned === "object" && returned !== null && Symbol.asyncIterator in returned) {
    return returned as AsyncIterable<unknown>;
  }
  throw new TypeError(
    "a stream's handler must return an async iterable: return ctx.follow(topic), or make it an async generator",
  );
}
