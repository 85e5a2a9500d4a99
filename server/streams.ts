/**
 * Streaming rpcs at their own path, for plain Connect and gRPC clients and curl: the handler's bare items, its errors
 * made fit for a client, and a normal end when the server drains. Streams that resume go through `follow.ts`.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { MethodDefinition } from "../runtime/base/definition.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import { CallContext, type Carried } from "./context.ts";
import type { DispatchParts } from "./dispatch.ts";
import type { Guest } from "./entrance.ts";
import { iterable } from "./follow.ts";
import { errorOfThrow } from "./handler-errors.ts";
import type { ConnectionEnd, OpenConnections } from "./session/open-connections.ts";
import { isFollowed, StreamScope } from "./topic/stream-scope.ts";
import type { WireGuest } from "./wire/greet.ts";

/** A stream that is open, for a drain to end it. */
export interface OpenStream {
  /** Whether its client can be told when to come back. */
  readonly resumes: boolean;
  /** Ends it, as a reader that comes back expects it. */
  end(afterMs: number): void;
}

/** Streams that are open, so that a drain can end them. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #idle: (() => void)[] = [];

  get openCount(): number {
    return this.#open.size;
  }

  /** Those that are open now. */
  list(): readonly OpenStream[] {
    return [...this.#open];
  }

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}

/** One streaming request. */
export interface StreamCall {
  readonly definition: MethodDefinition;
  /** A message, or an iterable of them where the client streams. */
  readonly request: unknown;
  readonly carried: Carried;
  readonly guest: Guest;
  /** The stream is open: its first item may be long in coming, and no header changes any more. */
  readonly opened: () => void;
}

export interface StreamParts extends DispatchParts {
  readonly connections: OpenConnections;
  /** Names the numbering of the store. */
  readonly epoch: string;
}

/** Takes in a stream that resumes among those that are open. */
export function enroll(
  { caller, key, session, until }: WireGuest,
  comeBack: (afterMs: number) => void,
  connections: OpenConnections,
  open: OpenStreams,
): { leave(): void } {
  const stream: OpenStream = { resumes: true, end: comeBack };
  const identity = { by: caller.by, space: key.space, session, until };
  // Whatever ends it, it comes back, and is authorised anew.
  const seat = connections.add({ kind: "stream", ...identity, end: () => comeBack(0) });
  open.add(stream);
  return {
    leave() {
      open.delete(stream);
      seat.leave();
    },
  };
}

/** Runs a streaming handler: an iterable of items, or the one reply where only the client streams. */
export function follow(
  call: StreamCall,
  parts: StreamParts,
  open: OpenStreams,
): AsyncIterable<Message> | Promise<Message> {
  return call.definition.method.methodKind === "client_streaming"
    ? collect(call, parts)
    : items(call, parts, open);
}

async function collect(call: StreamCall, parts: DispatchParts): Promise<Message> {
  try {
    const context = new CallContext(call.guest, parts, call.carried);
    return (await parts.handler(call.definition)(call.request, context)) as Message;
  } catch (error) {
    throw errorOfThrow(error, call.definition, parts.log);
  }
}

async function* items(call: StreamCall, parts: StreamParts, open: OpenStreams): AsyncGenerator<Message> {
  const { definition, carried, guest } = call;
  const stop = linked(carried.signal);
  const drain = { came: false };
  let wake: () => void = () => undefined;
  const end = (): void => {
    // A reader of a plain stream would take its end for the whole; it goes on until the deadline of the drain.
    if (definition.kind === "plain") return;
    drain.came = true;
    stop.abort();
    wake();
  };
  const stream: OpenStream = { resumes: false, end };
  open.add(stream);
  let refusal: ConnectError | undefined;
  const seat = parts.connections.add({
    kind: "stream",
    by: guest.caller.by,
    space: guest.key.space,
    session: guest.session,
    until: guest.until,
    end(why) {
      // Whoever reads bare items cannot be told to come back in any other way than by an error.
      refusal = endError(why);
      drain.came = true;
      stop.abort();
      wake();
    },
  });
  const scope = new StreamScope({ ...parts, after: undefined, stop });
  let source: AsyncIterator<Message> | undefined;
  try {
    const { follow: followTopic, numbered } = scope;
    const context = new CallContext(guest, parts, carried, stop);
    const returned = await parts.handler(definition)(
      call.request,
      Object.assign(context, { follow: followTopic, numbered }),
    );
    if (isFollowed(returned)) call.opened();
    source = (iterable(returned) as AsyncIterable<Message>)[Symbol.asyncIterator]();
    while (!drain.came) {
      const next = await nextOrWake(source, (fn) => {
        wake = fn;
      });
      if (next === undefined || next.done === true) break;
      yield next.value;
    }
    if (refusal !== undefined) throw refusal;
  } catch (error) {
    throw errorOfThrow(error, definition, parts.log);
  } finally {
    open.delete(stream);
    seat.leave();
    stop.abort();
    stop.unlink();
    scope.close();
    // A handler that waits for something else ends in its own time; nobody hears its last words.
    source?.return?.().catch(() => undefined);
  }
}

function endError(why: ConnectionEnd): ConnectError {
  return why === "sessionGone"
    ? new ConnectError("the session is gone, without a sign of life for too long", Code.Unavailable)
    : serverError("SIGN_IN_REFUSED", "the sign-in has ended");
}

/** The next item, or undefined as soon as the function that `woken` is given is called. */
function nextOrWake(
  source: AsyncIterator<Message>,
  woken: (fn: () => void) => void,
): Promise<IteratorResult<Message> | undefined> {
  return new Promise((resolve, reject) => {
    woken(() => resolve(undefined));
    source.next().then(resolve, reject);
  });
}

/** A signal of our own that follows another one. */
function linked(signal: AbortSignal): { signal: AbortSignal; abort(): void; unlink(): void } {
  const controller = new AbortController();
  const follow = (): void => controller.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener("abort", follow);
  return {
    signal: controller.signal,
    abort: () => controller.abort(),
    unlink: () => signal.removeEventListener("abort", follow),
  };
}
