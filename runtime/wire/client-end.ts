/**
 * The client's end of a wire: what it says and hears beyond what both ends do alike.
 *
 * Source: design "Wires".
 */
import { create } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  type ClientMessage,
  ClientMessageSchema,
  type End,
  KeepaliveSchema,
  NameSchema,
  ReauthSchema,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { fromLinkError } from "./link-error.ts";
import { WireEnd, type WireEndOptions } from "./wire-end.ts";

/** The server ended the wire in good order. */
export class WireEnded extends Error {
  override readonly name = "WireEnded";
  /** Ms after which the client comes back. */
  readonly afterMs: number;
  /** Why, where it was not only time; undefined for a wire that is to be opened again. */
  readonly error: ConnectError | undefined;

  constructor({ afterMs, error }: { readonly afterMs: number; readonly error: ConnectError | undefined }) {
    super(error === undefined ? "the server ended the wire" : error.message, { cause: error });
    this.afterMs = afterMs;
    this.error = error;
  }
}

export class ClientEnd extends WireEnd<typeof ServerMessageSchema, typeof ClientMessageSchema> {
  readonly #numbers = new Map<string, number>();
  #onNow: (serverMs: number) => void = () => undefined;
  #onStreamEnd: (end: End) => void = () => undefined;
  #onLeave: (afterMs: number) => void = () => undefined;

  constructor(options: WireEndOptions) {
    super({ in: ServerMessageSchema, out: ClientMessageSchema }, options);
    this.take({
      end: (end) => {
        if (end.stream !== 0) this.#onStreamEnd(end);
        else if (end.again && end.error === undefined) this.#onLeave(end.afterMs);
        else this.close(wireEnded(end));
      },
      keepalive: ({ nowMs, ask }) => {
        if (nowMs > 0) this.#onNow(nowMs);
        if (ask) this.send(this.keepalive(false));
      },
    });
  }

  /** Who hears the server's time, in ms since 1970. */
  onNow(fn: (serverMs: number) => void): void {
    this.#onNow = fn;
  }

  /** Who hears that a stream ends; the wire's own end is no stream's. */
  onStreamEnd(fn: (end: End) => void): void {
    this.#onStreamEnd = fn;
  }

  /**
   * Who hears that the server will end this wire: nothing new is begun on it, and the next one is opened after
   * `afterMs`. What is under way is still answered, then the wire closes.
   */
  onLeave(fn: (afterMs: number) => void): void {
    this.#onLeave = fn;
  }

  /** Signs in anew; empty: without a token. */
  reauth(token: string): void {
    this.send(
      create(ClientMessageSchema, { kind: { case: "reauth", value: create(ReauthSchema, { token }) } }),
    );
  }

  /** The number that stands for a name on this wire; told before its first use. */
  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    this.#numbers.set(name, number);
    const value = create(NameSchema, { number, name });
    this.send(create(ClientMessageSchema, { kind: { case: "name", value } }));
    return number;
  }

  protected keepalive(ask: boolean): ClientMessage {
    return create(ClientMessageSchema, {
      kind: { case: "keepalive", value: create(KeepaliveSchema, { ask }) },
    });
  }

  protected lastWord(): undefined {
    return undefined;
  }
}

function wireEnded({ afterMs, error }: End): WireEnded {
  return new WireEnded({ afterMs, error: error === undefined ? undefined : fromLinkError(error) });
}
