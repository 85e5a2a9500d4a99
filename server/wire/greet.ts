/**
 * What every wire passes before any message but hello: is the server open, can hello be read, is the build
 * served, who is it. The first that says no ends the wire, with an error that names itself.
 *
 * Source: design "Quality: Security"; reliability decisions D46, D55, check X5.
 */
import type { ConnectError } from "@connectrpc/connect";
import type { Hello } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Caller } from "../../runtime/base/handlers.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { checkHello } from "../../runtime/wire/handshake.ts";
import type { CallerKey } from "../journal/answer.ts";

/** Where a wire comes from. */
export interface WireOrigin {
  /** Headers of the request that opened it; of a wire without one, empty. */
  readonly header: Headers;
  /** The address of the connection; undefined where it is not told. */
  readonly address: string | undefined;
  readonly via: "wire";
}

/** Who is at the other end of a wire, for as long as it lives. */
export interface WireGuest {
  readonly caller: Caller;
  readonly key: CallerKey;
  /** The caller's opaque tag. */
  readonly tag: string;
  readonly session: string | undefined;
  /** The link's ID: also the lane of its commands. */
  readonly link: string;
  readonly slot: string;
  readonly generation: number;
  /** Ms of silence after which the client takes the wire for dead. */
  readonly idleMs: number;
  readonly codec: Codec;
  /** Ms since 1970 at which the sign-in ends; undefined: never. */
  readonly until: number | undefined;
  readonly address: string | undefined;
}

/** What a sign-in on a wire is judged by. */
export interface WireSignIn extends Omit<WireOrigin, "header"> {
  readonly token: string | undefined;
  readonly headers: Headers;
}

/** The parts of the server that a greeting asks; the same that a request over HTTP passes. */
export interface GreetParts {
  /** The error that new work is refused with; undefined: the server is open. */
  readonly refusal: () => ConnectError | undefined;
  /** Throws for a build that is not served; undefined: the client names none. */
  readonly buildGate: (build: string | undefined) => void;
  /** Ends by itself within 5 s. */
  readonly signIn: (
    request: WireSignIn,
  ) => Promise<{ readonly caller: Caller; readonly until: number | undefined }>;
  readonly callerKey: (sender: {
    readonly by: string | undefined;
    readonly anon: string | undefined;
    readonly address: string | undefined;
  }) => CallerKey;
}

/** Lets a wire in, or rejects with the ConnectError that stops it. */
export async function greet(hello: Hello, from: WireOrigin, parts: GreetParts): Promise<WireGuest> {
  assertOpen(parts);
  const facts = checkHello(hello);
  parts.buildGate(facts.build);
  const { header, address, via } = from;
  const { caller, until } = await parts.signIn({ token: facts.token, headers: header, address, via });
  assertOpen(parts); // signing in takes time
  const key = parts.callerKey({ by: caller.by, anon: facts.anon, address });
  const { codec, link, slot, generation, session, idleMs } = facts;
  return { caller, key, tag: key.tag, session, link, slot, generation, idleMs, codec, until, address };
}

function assertOpen(parts: GreetParts): void {
  const refusal = parts.refusal();
  if (refusal !== undefined) throw refusal;
}
