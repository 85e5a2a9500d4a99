/**
 * A link is the one object that talks to one server for one account: calls go through it, and it has the one
 * state of the connection that a person sees.
 *
 * Source: design "Calls".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions, Calls } from "../base/calls.ts";
import type {
  HeartbeatDefinition,
  PlainStreamDefinition,
  StreamDefinition,
  UnaryDefinition,
} from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import type { BeatOptions, Heartbeat } from "../base/heartbeats.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Holds } from "../base/objects.ts";
import type { GapMode, PlainStreamOptions, ResumableStream, StreamOptions } from "../base/streams.ts";
import { Source, type Watchable } from "../base/watchable.ts";
import { makeCall } from "../call/call.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import { LinkEnvironment, type LinkInside, type LinkParts } from "./link-environment.ts";
import { linkLine } from "./link-line.ts";
import { type LinkEvent, type LinkState, linkAtFirst, nextLinkState } from "./link-state.ts";
import type { OutboxHome } from "./platform.ts";
import type { LinkWire } from "./wire-support.ts";

export class Link implements Calls, Holds, AsyncDisposable {
  readonly #parts: LinkParts;
  readonly #baseUrl: string;
  readonly #host: string;
  readonly #state = new Source<LinkState>(linkAtFirst);
  readonly #env: LinkEnvironment;
  readonly #inside: LinkInside;
  readonly #outbox: Outbox | undefined;
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
    this.#inside = { env: this.#env, parts, baseUrl: this.#baseUrl };
    this.#outbox = openOutbox(parts, this.#env, this.#baseUrl);
    this.#env.outbox = this.#outbox;
    this.#env.wire = wireOf(parts, this.#env, this.#baseUrl);
    if (parts.options.outbox?.atStart !== false) this.#outbox?.wake();
    this.#forgetWake = parts.platform.onWake(() => {
      this.#env.gate.prompt();
      this.#env.wire?.prompt();
    });
  }

  /** The server's base URL, as the link uses it. */
  get url(): string {
    return this.#baseUrl;
  }

  /** Whether the server answers. Only what the link itself has seen: it opens nothing to find out. */
  get state(): Watchable<LinkState> {
    return this.#state;
  }

  /**
   * The commands of this server and account that wait: made here, or left by an earlier process.
   *
   * @throws TypeError for a link without one: to a plain server, or on a platform without a store.
   */
  get outbox(): Outbox {
    if (this.#outbox !== undefined) return this.#outbox;
    throw new TypeError(
      this.#env.server === "plain"
        ? 'link.outbox: a link with server: "plain" has none, since only a holdfast server keeps what ran'
        : "link.outbox: this link has no store for one; give linkOf `outbox: { store }`",
    );
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
    const straight = this.#env.wire?.straight(definition, request, options);
    return straight ?? makeCall(this.#env, definition, request, options);
  }

  /** See {@link Calls.stream}. */
  stream<I extends DescMessage, O extends DescMessage, Gaps extends GapMode = "tell">(
    definition: StreamDefinition<I, O>,
    request: MessageInitShape<I>,
    options?: StreamOptions<Gaps>,
  ): ResumableStream<MessageShape<O>, Gaps> {
    return definition.follower.follow(this.#inside, definition, request, options);
  }

  /** See {@link Calls.plain}. */
  plain<I extends DescMessage, O extends DescMessage>(
    definition: PlainStreamDefinition<I, O>,
    requests: AsyncIterable<MessageInitShape<I>>,
    options?: PlainStreamOptions,
  ): AsyncIterable<MessageShape<O>> {
    return definition.streamer.open(this.#inside, definition, requests, options);
  }

  /**
   * Begins the sign of life of this link's session: at once, and then once a period, one try each. It runs until
   * it is stopped or the link closes, and keeps no process alive.
   *
   * @param makeRequest - makes the body of each tick, as things are then.
   * @param onReply - hears each answer, with what the server asks.
   */
  beat<I extends DescMessage, O extends DescMessage>(
    definition: HeartbeatDefinition<I, O>,
    makeRequest: () => MessageInitShape<I>,
    onReply?: (reply: MessageShape<O>) => void,
    options?: BeatOptions,
  ): Heartbeat {
    return definition.beater.start(this.#inside, definition, makeRequest, onReply, options);
  }

  /** See {@link Holds.hold}. Needs a wire: a browser's link is given one, see `holdfast/web/wire`. */
  readonly hold: Holds["hold"] = (...taken: Parameters<Holds["hold"]>) => this.#holds().hold(...taken);

  /** See {@link Holds.get}. */
  readonly get: Holds["get"] = async (...taken: Parameters<Holds["get"]>) => this.#holds().get(...taken);

  /**
   * The person has signed in, or is another one: the token source is asked again at the next try. On a
   * refused link calls go again, and the first answer makes it `up`.
   */
  signIn(): void {
    this.#env.signInAgain();
    this.#outbox?.signedIn();
  }

  /**
   * Ends the link: its calls end with LINK_CLOSED, and no timer and no connection of its own is left. Resolves
   * when the commands that its calls leave in the outbox are stored.
   */
  async close(): Promise<void> {
    if (this.#env.close()) {
      this.#forgetWake();
      this.#parts.connections.leave();
      this.#state.close();
      this.#parts.onClose();
    }
    await this.#outbox?.close();
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  #holds(): Holds {
    const { wire, ending } = this.#env;
    if (ending.aborted && ending.reason instanceof HoldfastError && ending.reason.reason === "LINK_CLOSED") {
      throw ending.reason;
    }
    if (wire !== undefined) return wire.holds;
    throw new TypeError(
      "link.hold: this link has no wire to hold objects over. Give linkOf `wire` (in a browser that of " +
        '`holdfast/web/wire`), and neither `transport` nor server: "plain"',
    );
  }

  #move(event: LinkEvent): void {
    const before = this.#state.value;
    if (before.kind === "up" && event.kind === "answered") return; // what nearly all events are
    const state = nextLinkState(before, event, this.#host, this.#env.clock.now());
    if (state !== before) this.#state.set(state);
    if (state.kind === "up" && before.kind !== "up") this.#outbox?.wake();
  }
}

function wireOf(
  { options, platform, json }: LinkParts,
  env: LinkEnvironment,
  url: string,
): LinkWire | undefined {
  const { transport, server } = options;
  if (transport !== undefined || server === "plain") return undefined;
  return (options.wire ?? platform.wire)?.attach({ url, options, json, env });
}

function openOutbox(parts: LinkParts, env: LinkEnvironment, server: string): Outbox | undefined {
  const { options, platform } = parts;
  const { account = "", outbox = {} } = options;
  const given = outbox.store;
  const home = isHome(given) ? given : platform.outbox;
  if (env.server === "plain" || home === undefined) return undefined;
  const place = {
    server,
    account,
    ...(outbox.folder === undefined ? {} : { folder: outbox.folder }),
  };
  const store = given === undefined || isHome(given) ? home.storeOf(place) : given;
  return home.open({ env, store, server, account, ownTransport: options.transport === undefined });
}

function isHome(given: OutboxStore | OutboxHome | undefined): given is OutboxHome {
  return given !== undefined && "storeOf" in given;
}
