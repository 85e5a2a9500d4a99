/**
 * What a call needs of its link, and a try of its connection: the seams below `call.ts`.
 *
 * Source: design "Calls".
 */
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { ContextValues, UnaryResponse } from "@connectrpc/connect";
import type { ConnectionFault } from "../base/connection-fault.ts";
import type { Timing } from "../base/constants.ts";
import type { Stop } from "../base/late-signal.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Gate } from "./gate.ts";
import type { InFlight } from "./in-flight.ts";
import type { CallOutbox } from "./keep.ts";
import type { HttpProgress, TryEnd } from "./outcome.ts";
import type { SignIn, SignInGone } from "./sign-in.ts";
import type { StampOptions } from "./stamp.ts";

/** Connect's own, but that it is told by any {@link Stop} when to give up. */
export interface UnaryTransport {
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    stop: Stop | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>>;
}

/**
 * What a try goes over.
 *
 * @typeParam Its - what kind of calls it makes.
 */
export interface TryConnection<Its = UnaryTransport> {
  readonly transport: Its;
  /** How far the try got; undefined over a transport that the program gave. */
  readonly http: () => HttpProgress | undefined;
  /** The head of the answer, from when it is there, also when the rest is cut off. Absent: not known. */
  readonly head?: () => Headers | undefined;
  /** Whether the transport makes a deadline of its own from the time it is given. */
  readonly ownDeadline: boolean;
  /** Whether it is signed in itself, so that the link's token does not go with the try. Absent: false. */
  readonly signedIn?: boolean;
  /**
   * This connection had a fault: the link opens a new one. False when it has done so before: then the fault is
   * old news, and says nothing of the server as it is now.
   */
  fault(): boolean;
}

/** What a call needs of its link. */
export interface CallEnvironment extends StampOptions {
  readonly log: Log;
  readonly random: Random;
  readonly timing: Timing;
  readonly server: "holdfast" | "plain";
  readonly gate: Gate;
  readonly signIn: SignIn;
  readonly inFlight: InFlight;
  /** Undefined: this link has none. */
  readonly outbox: CallOutbox | undefined;
  /** Headers of every try: session, build. */
  readonly identity: Readonly<Record<string, string>>;
  /** Aborts when the link closes or is refused, with the error that its calls end with. */
  readonly ending: AbortSignal;
  /** Whether `holdfast-server` has been seen on this link. */
  readonly seen: boolean;
  /** What the next try of a call goes over: a wire, or HTTP. @param form - how messages travel, when the link's own choice will not do. */
  callConnection(form?: "binary"): TryConnection;
  /** The same over HTTP. */
  connection(form?: "binary"): TryConnection;
  /** Ms to wait for a repeat after a server fault, beside the call's own wait. A longer wait takes no token. */
  takeRetryToken(waitMsMost: number): number;
  /** The caller tag that answers to this sender carried: a token, or the secret of an anonymous command. */
  tagOf(sender: string | undefined): string | undefined;
  /** The headers of an answer to a sender: the server's time, its mark, the caller's tag. */
  heard(header: Headers, sender: string | undefined): void;
  /** A sender's caller tag, where an answer has it without headers. */
  named(tag: string, sender: string | undefined): void;
  /** Asks the server for its time, which may fail. Never rejects. */
  askTime(): Promise<void>;
  /** How a try ended, for the link's state. */
  tryEnded(end: TryEnd, nextTryInMs: number | undefined): void;
  /** The server answered, outside a try of `call.ts`. */
  answered(): void;
  /** Nothing listens at this loopback address, and never did for this process. */
  isNoServer(fault: ConnectionFault): boolean;
  /** What keeps the link from its server, in words; undefined while nothing does. */
  trouble(): string | undefined;
  /** The sign-in is gone: the link's calls end. */
  signInGone(error: SignInGone): void;
}
