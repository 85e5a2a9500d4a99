/**
 * What a stream needs of its link.
 *
 * Source: design "Streams: The client", "Calls".
 */
import type { Transport } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { Timing } from "../base/constants.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Gate } from "../call/gate.ts";
import type { HttpProgress, TryEnd } from "../call/outcome.ts";
import type { SignIn, SignInGone } from "../call/sign-in.ts";
import type { Codec } from "../codec/codec.ts";
import type { WebSocketMaker } from "../wire/websocket.ts";

/** Connections that only one stream uses. */
export interface OwnConnections {
  /** A transport for one rpc. `onByte` is called for each piece of its answer. */
  begin(onByte: () => void): {
    readonly transport: Pick<Transport, "stream">;
    readonly http: () => HttpProgress | undefined;
  };
  /** Asks for a sign on the same connection; undefined over a transport that the program gave. */
  readonly reach: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  close(): void;
}

export interface StreamEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Timing;
  readonly server: "holdfast" | "plain";
  readonly gate: Gate;
  readonly signIn: SignIn;
  /** The same for all streams of a link: what they share is found by it. */
  readonly link: object;
  /** The server's base URL. */
  readonly url: string;
  /** What opens the WebSocket that streams share. Undefined: each has a connection of its own. */
  readonly webSocket: () => WebSocketMaker | undefined;
  /** The link's ID. */
  readonly linkId: string;
  readonly session: string;
  readonly build: string | undefined;
  /** The secret that tells one anonymous caller from another. */
  readonly anonymous: string;
  /** How packets travel. */
  readonly codec: Codec;
  /** Headers of every try: session, build. */
  readonly identity: Readonly<Record<string, string>>;
  /** Aborts when the link closes or is refused, with the error that its streams end with. */
  readonly ending: AbortSignal;
  /** Whether `holdfast-server` has been seen on this link. */
  readonly seen: boolean;
  /** Of each stream its own, never used again on this link. */
  newSlot(): string;
  openOwn(): OwnConnections;
  heard(header: Headers, token: string | undefined): void;
  tryEnded(end: TryEnd, nextTryInMs: number | undefined): void;
  answered(): void;
  signInGone(error: SignInGone): void;
  /** Calls `fn` when the network may be back, until the returned function is called. */
  onWake(fn: () => void): () => void;
}
