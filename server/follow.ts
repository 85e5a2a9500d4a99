/**
 * From a client's follow to its handler: which method it is, what it asks for, from where, and how what the handler
 * returned is served.
 *
 * Source: design "Streams", "Wire".
 */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { Follow, Header, Packet } from "../gen/holdfast/link/v1/link_pb.ts";
import type { MethodDefinition, StreamDefinition } from "../runtime/base/definition.ts";
import type { LateSignal } from "../runtime/base/late-signal.ts";
import type { Log } from "../runtime/base/log.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import { CodecError } from "../runtime/codec/codec-error.ts";
import { messageIn } from "../runtime/wire/packet.ts";
import { CallContext, type Carried } from "./context.ts";
import type { DispatchParts } from "./dispatch.ts";
import { errorOfThrow } from "./handler-errors.ts";
import { addressKey } from "./http/exchange.ts";
import { StreamScope } from "./topic/stream-scope.ts";
import type { Place, StreamSource } from "./topic/source.ts";
import { followPackets, type FollowParts, FollowServing } from "./wire/follow-rpc.ts";
import type { FollowAsked, OpenedStream } from "./wire/opened-stream.ts";

export interface FollowingParts extends Pick<DispatchParts, "handler" | "topics" | "clock" | "log"> {
  /** The method of a name such as "board.v1.BoardService.Tail"; undefined: there is none. */
  readonly named: (name: string) => MethodDefinition | undefined;
  /** Names the numbering of the store. */
  readonly epoch: string;
}

/** What answers `LinkService.Follow`. */
export interface FollowAnswers {
  /** Packets to whatever carries them. */
  readonly serving: FollowServing;
  /** The same as Connect asks for them. */
  readonly rpc: (packet: Packet, context: HandlerContext) => AsyncIterable<Packet>;
}

export function createFollow(parts: FollowingParts & Omit<FollowParts, "open">): FollowAnswers {
  const serving = new FollowServing({ ...parts, open: (asked) => openStream(asked, parts) });
  return {
    serving,
    rpc: (packet, { requestHeader, values, signal }) =>
      followPackets(
        packet,
        { header: requestHeader, address: values.get(addressKey), via: "wire", signal },
        serving,
      ),
  };
}

/** Asks the handler of a stream. Rejects with the ConnectError that the client gets. */
export async function openStream(asked: FollowAsked, parts: FollowingParts): Promise<OpenedStream> {
  const { guest, follow, stop } = asked;
  const definition = streamNamed(follow.method, parts);
  const request = requestOf(asked, definition);
  const carried = new FollowCarried(asked);
  const { topics, epoch, log, clock } = parts;
  const scope = new StreamScope({ topics, epoch, after: placeOf(follow), stop });
  const { caller, session } = guest;
  const sender = { caller, session, deadline: undefined };
  // Not a copy: its getters make what they give.
  const context = Object.assign(new CallContext(sender, { log, clock }, carried), {
    follow: scope.follow,
    numbered: scope.numbered,
  });
  try {
    const returned = await parts.handler(definition)(request, context);
    const source = await scope.serve(iterable(returned), definition.method.output);
    return new Opened(source, definition, scope.onlySource ? source : scope, log);
  } catch (error) {
    scope.close();
    throw errorOfThrow(error, definition, log);
  }
}

class Opened implements OpenedStream {
  readonly source: StreamSource;
  readonly #definition: StreamDefinition;
  readonly #toClose: { close(): void };
  readonly #log: Log;

  constructor(source: StreamSource, definition: StreamDefinition, toClose: { close(): void }, log: Log) {
    this.source = source;
    this.#definition = definition;
    this.#toClose = toClose;
    this.#log = log;
  }

  errorOf(thrown: unknown): ConnectError {
    return errorOfThrow(thrown, this.#definition, this.#log);
  }

  close(): void {
    this.#toClose.close();
  }
}

/** What a handler may look at, and mostly does not: made when it does. */
class FollowCarried implements Carried {
  readonly #stop: LateSignal;
  readonly #header: Headers;
  readonly #added: readonly Header[];
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor({ stop, header, follow }: FollowAsked) {
    this.#stop = stop;
    this.#header = header;
    this.#added = follow.headers;
    // What cannot be is refused before the handler is asked.
    if (follow.headers.length > 0) this.#requestHeader = headersOf(header, follow.headers);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get requestHeader(): Headers {
    return (this.#requestHeader ??= headersOf(this.#header, this.#added));
  }

  get responseHeader(): Headers {
    return (this.#responseHeader ??= new Headers());
  }

  get responseTrailer(): Headers {
    return (this.#responseTrailer ??= new Headers());
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
