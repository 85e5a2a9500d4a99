/**
 * What every request passes before its body is read: is the server open, is the build served, who is it, can its
 * call ID be read, and is it its turn. The first that says no ends it, with an error that names itself.
 *
 * Source: design "Server: What a user writes"; reliability decision D26.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { MethodDefinition } from "../runtime/base/definition.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import type { Caller } from "../runtime/base/handlers.ts";
import { type CallHeader, headerNames, isId, parseCallHeader } from "../runtime/call/headers.ts";
import { type Admission, type Turn, freeTurn } from "./admission.ts";
import type { Sender } from "./caller-tag.ts";
import { bearerToken, type SignedIn, type SignInRequest } from "./caller.ts";
import type { Entered } from "./http/exchange.ts";
import type { HeaderLookup } from "./http/request-head.ts";
import type { Arrival } from "./http/routes.ts";
import type { CallerKey } from "./journal/answer.ts";

/** A request that was let in. */
export interface Guest extends Entered {
  readonly caller: Caller;
  /** Ms since 1970 at which the sign-in ends; undefined: never. */
  readonly until: number | undefined;
  readonly key: CallerKey;
  /** Of a command with a call ID. */
  readonly call: CallHeader | undefined;
  /** The caller tag that the client was given at the first try. */
  readonly expectedTag: string | undefined;
  readonly session: string | undefined;
  readonly deadline: number | undefined;
  /** The server's wall time in ms at which the request arrived, before it waited for anything. */
  readonly arrivedAtMs: number;
  readonly turn: Turn;
}

export interface EntranceParts {
  /** The error that new work is refused with; undefined: the server is open. */
  readonly refusal: () => ConnectError | undefined;
  /** Throws for a build that is not served. */
  readonly buildGate: (build: string | undefined) => void;
  readonly signIn: (request: SignInRequest) => Promise<SignedIn>;
  readonly callerKey: (sender: Sender) => CallerKey;
  readonly admission: Admission;
}

/** Lets a request in, or rejects with the error that stops it. */
export async function enter(arrival: Arrival, parts: EntranceParts): Promise<Guest> {
  const { definition, header, address } = arrival;
  const assertOpen = (): void => {
    const refusal = parts.refusal();
    if (refusal !== undefined) throw refusal;
  };
  assertOpen();
  parts.buildGate(header.get(headerNames.build) ?? undefined);
  const { caller, until } = await parts.signIn({
    token: bearerToken(header),
    get headers() {
      return arrival.allHeaders;
    },
    address,
    via: "http",
  });
  const key = parts.callerKey({ by: caller.by, anon: anonymousSecret(header), address });
  const call = callOf(definition, header);
  const turn = turnOf(arrival, key, parts.admission);
  if (!isLikelyRepeat(call)) await turn.start();
  try {
    assertOpen(); // signing in and waiting take time
  } catch (error) {
    turn.leave();
    throw error;
  }
  return {
    tag: key.tag,
    leave: () => turn.leave(),
    caller,
    until,
    key,
    call,
    expectedTag: header.get(headerNames.for) ?? undefined,
    session: sessionOf(header),
    deadline: arrival.deadline,
    arrivedAtMs: arrival.atMs,
    turn,
  };
}

/** The call ID is read of commands alone; of others it says nothing. */
function callOf(definition: MethodDefinition, header: HeaderLookup): CallHeader | undefined {
  if (definition.kind !== "command") return undefined;
  const value = header.get(headerNames.call);
  if (value === null) {
    if (definition.requireId === true) throw serverError("CALL_ID_MISSING");
    return undefined;
  }
  const call = parseCallHeader(value);
  if (call === undefined) throw serverError("CALL_ID_MALFORMED");
  return call;
}

/** A repeat joins its call or is answered from what is kept, so it waits for no turn unless it runs after all. */
function isLikelyRepeat(call: CallHeader | undefined): boolean {
  return (call?.lane?.tries ?? 1) > 1;
}

/** Heartbeats cost nothing; a stream lives long and is bounded by its connection. */
function turnOf(arrival: Arrival, key: CallerKey, admission: Admission): Turn {
  const { kind } = arrival.definition;
  if (kind === "heartbeat" || kind === "stream" || kind === "plain") return freeTurn;
  return admission.turn(key.quota, arrival);
}

function anonymousSecret(header: HeaderLookup): string | undefined {
  const anon = header.get(headerNames.anon) ?? undefined;
  if (anon === undefined || isId(anon)) return anon;
  throw new ConnectError(
    "the header holdfast-anon cannot be read. Send 16 to 128 characters of A-Z, a-z, 0-9, - and _.",
    Code.InvalidArgument,
  );
}

/** Characters of a session's name. */
const sessionCharsMost = 128;

function sessionOf(header: HeaderLookup): string | undefined {
  const session = header.get(headerNames.session) ?? undefined;
  if (session === undefined || session.length <= sessionCharsMost) return session;
  throw new ConnectError(
    `the header holdfast-session is longer than ${sessionCharsMost} characters.`,
    Code.InvalidArgument,
  );
}
