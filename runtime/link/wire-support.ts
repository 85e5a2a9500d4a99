/**
 * The seam between a link and its wire: a connection that stays, over which calls and held objects go. What opens
 * one is given by the platform or by the program, so that a page which makes calls over HTTP alone carries none of it.
 *
 * Source: design "Which way a call goes".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import type { Clock } from "../base/clock.ts";
import type { UnaryDefinition } from "../base/definition.ts";
import type { Holds } from "../base/objects.ts";
import type { Lane } from "../call/lane.ts";
import type { CallEnvironment, TryConnection } from "../call/call-environment.ts";
import type { Codec } from "../codec/codec.ts";
import type { ClientEnd } from "../wire/client-end.ts";
import type { CodecName } from "../wire/handshake.ts";
import type { Wire } from "../wire/wire.ts";

/** Which way calls go; see `LinkOptions.calls`. */
export type CallsWay = "auto" | "http" | "wire";

/** What a wire is opened with. */
export interface OpenWireOptions {
  /** The server's base URL. */
  readonly url: string;
  readonly codec: CodecName;
  readonly clock: Clock;
  /** Ms until the wire must stand. */
  readonly connectWaitMs: number;
  readonly signal: AbortSignal;
  /** The link's options: a platform finds its own among them, such as `tls`. */
  readonly own: object;
}

/**
 * Opens a wire to a server that stands, and has said nothing.
 *
 * @throws ConnectionFault, `sent: false`; the signal's reason once that has aborted.
 */
export type OpenWire = (options: OpenWireOptions) => Promise<Wire>;

/** What a link's wire needs of its link. */
export interface WireHost {
  /** The link's address, as it uses it. */
  readonly url: string;
  readonly options: {
    readonly calls?: CallsWay;
    readonly codec?: CodecName;
    readonly interceptors?: readonly Interceptor[];
  };
  /** What the link has for JSON. */
  readonly json: Codec | undefined;
  readonly env: WireEnvironment;
}

/** The link's environment, as its wire uses it. */
export interface WireEnvironment extends CallEnvironment {
  readonly lane: Lane;
  connection(form?: "binary", interceptors?: readonly Interceptor[]): TryConnection;
}

/** The wire of a link. */
export interface LinkWire {
  /** A try of a call; undefined: it goes over HTTP. Opens a wire when that is due. */
  connection(): TryConnection | undefined;
  /**
   * Makes a call whose first try goes straight over the open wire; undefined: it is one for the call loop, whatever
   * keeps it from that.
   */
  straight<I extends DescMessage, O extends DescMessage>(
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions | undefined,
  ): Promise<MessageShape<O>> | undefined;
  /** The open end; undefined while there is none. */
  readonly end: ClientEnd | undefined;
  /**
   * Is told of each wire that opens, before a message can come, and of the one that is open; its end tells when it is
   * closed. Gives a function that forgets it.
   */
  onOpened(fn: (end: ClientEnd) => void): () => void;
  /** Something lives on the wire: it is opened, and kept open, until the function that it gives is called. */
  want(): () => void;
  /** What is held over this wire. It opens at the first hold, and is opened again while anything is held. */
  readonly holds: Holds;
  /** Another person has signed in, or the network may be back: a wire of before is given up, or looked for at once. */
  signedIn(): void;
  prompt(): void;
  close(): void;
}

/** What gives a link its wire. */
export interface WireSupport {
  attach(host: WireHost): LinkWire;
}
