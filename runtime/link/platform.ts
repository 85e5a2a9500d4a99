/**
 * The seam to a platform: what a link cannot do with the language alone. Node's and the browser's entries
 * pass theirs; tests and the simulation pass their own. Nothing looks at globals to find out where it runs.
 */
import type { Clock } from "../base/clock.ts";
import type { HttpClient, HttpOptions } from "../base/http-client.ts";
import type { Random } from "../base/random.ts";
import type { Codec } from "../codec/codec.ts";
import type { Outbox, OutboxParts } from "../outbox/outbox.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { WebSocketMaker } from "../wire/websocket.ts";
import type { WireSupport } from "./wire-support.ts";

/** Whose outbox it is. */
export interface OutboxPlace {
  /** The server's URL as the link uses it. */
  readonly server: string;
  /** "" without an account. */
  readonly account: string;
  /** The folder below which outboxes are kept; absent: the platform's own. */
  readonly folder?: string;
}

/** Where commands wait, with the code that lets them: a program without one does not carry it. */
export interface OutboxHome {
  /** Where the entries of a server and an account are kept. Touches nothing before its first use. */
  storeOf(place: OutboxPlace): OutboxStore;
  open(parts: OutboxParts): Outbox;
}

/** @typeParam Own - the options that only this platform's links have (TLS, the HTTP version). */
export interface Platform<Own = unknown> {
  readonly clock: Clock;
  readonly random: Random;
  /** A new client with connections of its own; it opens none before its first request. */
  openHttp(options: HttpOptions, own: Own): HttpClient;
  /** Absent on a platform without files; a link's options may bring one. */
  readonly outbox?: OutboxHome;
  /** What reads and writes JSON; absent: a link has it only when the program gives it. */
  readonly json?: Codec;
  /** What opens wires; absent: links have one only when the program gives `linkOf` what opens it. */
  readonly wire?: WireSupport;
  /** What opens the WebSocket that a link's streams share. Absent, or undefined: each has a connection of its own. */
  webSocket?(own: Own): WebSocketMaker | undefined;
  /** Calls `fn` when the network may be back: online, a tab shown, a wake from sleep. */
  onWake(fn: () => void): () => void;
}
