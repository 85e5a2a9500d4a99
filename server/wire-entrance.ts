/**
 * A call that came over a wire, let in as a request over HTTP is: who it is was found out at hello, so what is left
 * is whether the server is open, and whether it is the call's turn. It is run by the same dispatcher.
 *
 * Source: design "Which way a call goes".
 */
import {
  createContextValues,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { createMethodUrl } from "@connectrpc/connect/protocol";
import type { Message } from "@bufbuild/protobuf";
import type { Clock } from "../runtime/base/clock.ts";
import type { Caller } from "../runtime/base/handlers.ts";
import type { Soon } from "../runtime/base/soon.ts";
import type { CallHeader } from "../runtime/call/headers.ts";
import { type Admission, freeTurn, type Turn } from "./admission.ts";
import type { Sender } from "./caller-tag.ts";
import type { Guest } from "./entrance.ts";
import { markOfError } from "./http/answer-mark.ts";
import type { UnaryAnswer } from "./http/exchange.ts";
import type { CallerKey } from "./journal/answer.ts";
import type { RunCall, WireCall } from "./wire/calls.ts";
import type { UnaryCall } from "./dispatch.ts";

export interface WireEntranceParts {
  /** The error that new work is refused with; undefined: the server is open. */
  readonly refusal: () => ConnectError | undefined;
  readonly admission: Admission;
  readonly callerKey: (sender: Sender) => CallerKey;
  /** Neither throws nor rejects. */
  readonly dispatch: (call: UnaryCall) => Soon<UnaryAnswer>;
  readonly interceptors: readonly Interceptor[];
  readonly clock: Clock;
}

/** What runs the calls of wires. */
export function runWireCalls(parts: WireEntranceParts): RunCall {
  const { interceptors } = parts;
  if (interceptors.length === 0) return (call) => enter(call, parts);
  return (call) => intercepted(call, parts);
}

function enter(call: WireCall, parts: WireEntranceParts): Soon<UnaryAnswer> {
  const refusal = parts.refusal();
  if (refusal !== undefined) return refused(call, refusal);
  const guest = guestOf(call, parts);
  const { definition, request } = call;
  // A repeat joins its call or is answered from what is kept: only the dispatcher knows whether it needs a turn.
  return parts.dispatch({ definition, request, carried: call, guest });
}

/** Who sends a call, and its turn. */
export function guestOf(
  call: WireCall,
  parts: Pick<WireEntranceParts, "admission" | "callerKey" | "clock">,
): Guest {
  const { wire, definition } = call;
  const { guest, caller } = wire;
  let { key } = guest;
  if (call.anon !== undefined && caller.by === undefined) {
    key = parts.callerKey({ by: undefined, anon: call.anon, address: guest.address });
    call.tag = key.tag;
  }
  const turn = definition.kind === "heartbeat" ? freeTurn : parts.admission.turn(key.quota, call);
  return new WireCallGuest(call, key, turn, parts.clock.now());
}

/** The guest of a call: most of it is the call's, or the wire's. */
class WireCallGuest implements Guest {
  readonly caller: Caller;
  readonly key: CallerKey;
  readonly turn: Turn;
  readonly arrivedAtMs: number;
  readonly #call: WireCall;

  constructor(call: WireCall, key: CallerKey, turn: Turn, arrivedAtMs: number) {
    this.caller = call.wire.caller;
    this.key = key;
    this.turn = turn;
    this.arrivedAtMs = arrivedAtMs;
    this.#call = call;
  }

  get tag(): string {
    return this.key.tag;
  }

  get until(): number | undefined {
    return this.#call.wire.guest.until;
  }

  get call(): CallHeader | undefined {
    return this.#call.call;
  }

  get expectedTag(): string | undefined {
    return this.#call.expectedTag;
  }

  /** What an earlier anonymous link has made is no sign of life of this one's session. */
  get session(): string | undefined {
    const { guest } = this.#call.wire;
    return this.key.space === guest.key.space ? guest.session : undefined;
  }

  get deadline(): number | undefined {
    return this.#call.deadline;
  }

  leave(): void {
    this.turn.leave();
  }
}

function refused(call: WireCall, error: ConnectError): UnaryAnswer {
  return {
    mark: call.definition.kind === "command" ? markOfError(error) : undefined,
    repeat: false,
    result: { error },
  };
}

/** Connect's interceptors around a call, as a handler of its own would have them. */
async function intercepted(call: WireCall, parts: WireEntranceParts): Promise<UnaryAnswer> {
  let answer: UnaryAnswer | undefined;
  const handle = async (request: UnaryRequest): Promise<UnaryResponse> => {
    call.request = request.message;
    answer = await enter(call, parts);
    if ("error" in answer.result) throw answer.result.error;
    return responseOf(call, answer.result.reply);
  };
  const run = parts.interceptors.reduceRight(
    (next, interceptor) => interceptor(next as never) as never,
    handle,
  );
  try {
    const { message } = await run(requestOf(call));
    return answer === undefined
      ? {
          mark: call.definition.kind === "command" ? "ran" : undefined,
          repeat: false,
          result: { reply: message },
        }
      : { ...answer, result: { reply: message } };
  } catch (thrown) {
    const error = ConnectError.from(thrown, Code.Internal);
    return answer === undefined ? refused(call, error) : { ...answer, result: { error } };
  }
}

function requestOf(call: WireCall): UnaryRequest {
  const { method } = call.definition;
  return {
    stream: false,
    service: method.parent,
    method,
    requestMethod: "POST",
    url: createMethodUrl("https://wire.invalid", method),
    signal: call.signal,
    header: call.requestHeader,
    contextValues: createContextValues(),
    message: call.request,
  };
}

function responseOf(call: WireCall, message: Message): UnaryResponse {
  const { method } = call.definition;
  return {
    stream: false,
    service: method.parent,
    method,
    header: call.responseHeader,
    trailer: call.responseTrailer,
    message: message,
  };
}
