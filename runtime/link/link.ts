/**
 * A link is the one object that talks to one server for one account: calls go through it, and it has the one
 * state of the connection that a person sees.
 *
 * Source: design "Calls".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions, Calls, StreamOptions } from "../base/calls.ts";
import type { PlainStreamDefinition, StreamDefinition, UnaryDefinition } from "../base/definition.ts";
import { Source, type Watchable } from "../base/watchable.ts";
import { makeCall } from "../call/call.ts";
import { LinkEnvironment, type LinkParts } from "./link-environment.ts";
import { linkLine } from "./link-line.ts";
import { type LinkEvent, type LinkState, linkAtFirst, nextLinkState } from "./link-state.ts";
import { plainStream } from "./plain-stream.ts";

export class Link implements Calls, AsyncDisposable {
  readonly #parts: LinkParts;
  readonly #baseUrl: string;
  readonly #host: string;
  readonly #state = new Source<LinkState>(linkAtFirst);
  readonly #env: LinkEnvironment;
  readonly #forgetWake: () => void;

  /** Made by `linkOf`. */
  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.#baseUrl = parts.url.href.replace(/\/$/, "");
    this.#host = parts.url.host;
    this.#env = new LinkEnvironment(parts, this.#baseUrl, {
      move: (event) => this.#move(event),
      // "back after 14 s" is no reason why a call has failed.
      trouble: () => (this.#state.value.kind === "up" ? undefined : this.line()),
    });
    this.#forgetWake = parts.platform.onWake(() => this.#env.gate.prompt());
  }

  /** The server's base URL, as the link uses it. */
  get url(): string {
    return this.#baseUrl;
  }

  /** Whether the server answers. Only what the link itself has seen: it opens nothing to find out. */
  get state(): Watchable<LinkState> {
    return this.#state;
  }

  /** The text of the present state; undefined when there is nothing to say. */
  line(): string | undefined {
    return linkLine(this.#state.value, this.#env.clock.now());
  }

  /** See {@link Calls.call}. */
  call<I extends DescMessage, O extends DescMessage>(
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>> {
    return makeCall(this.#env, definition, request, options);
  }

  /** See {@link Calls.stream}. In this version the rpc's own stream, without resume. */
  stream<I extends DescMessage, O extends DescMessage>(
    definition: StreamDefinition<I, O>,
    request: MessageInitShape<I>,
    options?: StreamOptions,
  ): AsyncIterable<MessageShape<O>> {
    return plainStream(this.#env, definition.method, one(request), options);
  }

  /** See {@link Calls.plain}. */
  plain<I extends DescMessage, O extends DescMessage>(
    definition: PlainStreamDefinition<I, O>,
    requests: AsyncIterable<MessageInitShape<I>>,
    options?: StreamOptions,
  ): AsyncIterable<MessageShape<O>> {
    return plainStream(this.#env, definition.method, requests, options);
  }

  /**
   * The person has signed in, or is another one: the token source is asked again at the next try. On a
   * refused link calls go again, and the first answer makes it `up`.
   */
  signIn(): void {
    this.#env.signInAgain();
  }

  /** Ends the link: its calls end with LINK_CLOSED, and no timer and no connection of its own is left. */
  async close(): Promise<void> {
    if (!this.#env.close()) return;
    this.#forgetWake();
    this.#parts.connections.leave();
    this.#state.close();
    this.#parts.onClose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #move(event: LinkEvent): void {
    const before = this.#state.value;
    const state = nextLinkState(before, event, this.#host, this.#env.clock.now());
    if (state !== before) this.#state.set(state);
  }
}

async function* one<T>(value: T): AsyncIterable<T> {
  yield value;
}
