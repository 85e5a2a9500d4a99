/**
 * The rpcs of held objects as plain rpcs at their own paths, for curl and for clients without a wire. The header
 * `holdfast-params` names the object. A command or query holds it for that one call; a state's rpc gives the whole
 * value, and again after each change, of which a slow reader gets the newest alone.
 *
 * Source: design "Schema and generated code".
 */
import { fromJsonString, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../runtime/base/clock.ts";
import type { MethodDefinition, ObjectDefinition } from "../runtime/base/definition.ts";
import type { Caller } from "../runtime/base/handlers.ts";
import { liveError } from "../runtime/base/live-reasons.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import { onAbort } from "../runtime/base/signals.ts";
import { headerNames } from "../runtime/call/headers.ts";
import type { Binding, Holder, HoldingFailure, HoldRequest } from "../runtime/hold/holding.ts";
import type { HostInside } from "../runtime/hold/host-inside.ts";
import type { LocalHolding } from "../runtime/hold/local-holding.ts";
import { keyedParams } from "../runtime/hold/params-key.ts";

/** A member of a served object that has a path of its own. */
export interface ObjectRpc {
  readonly type: ObjectDefinition;
  readonly member: string;
}

/** The rpcs of an object, under the definitions that the routes know them by. */
export function rpcsOf(type: ObjectDefinition): readonly (readonly [MethodDefinition, ObjectRpc])[] {
  return Object.entries(type.$members).map(([member, definition]) => {
    // To the routes a state is a stream as any other, with a handler of this module's.
    const known = definition.kind === "state" ? { ...definition, kind: "stream" } : definition;
    return [known as unknown as MethodDefinition, { type, member }];
  });
}

export interface RpcSender {
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly requestHeader: Headers;
  readonly signal: AbortSignal;
}

/**
 * Which object a request is about.
 *
 * @throws ConnectError BAD_PARAMS.
 */
export function requestedObject(type: ObjectDefinition, sender: RpcSender): HoldRequest {
  const { caller, session, requestHeader } = sender;
  const header = requestHeader.get(headerNames.params);
  try {
    const { params, key } = keyedParams(
      type.$params,
      fromJsonString(type.$params, header ?? "{}") as Message,
    );
    return { type, params, key, caller, session };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw serverError("BAD_PARAMS", `the header ${headerNames.params} does not name an object: ${problem}`);
  }
}

export interface RpcHost {
  readonly host: HostInside;
  readonly clock: Clock;
  readonly readyTimeoutMs: number | undefined;
}

/** The object is failed, and nothing tries it again until somebody asks for that. */
export class BrokenObject extends Error {
  readonly why: ConnectError;

  constructor(why: ConnectError) {
    super(why.message);
    this.why = why;
  }
}

/**
 * Holds an object for one call: gives its holding once it is live. Whoever asked releases it.
 *
 * @throws BrokenObject with the cause of a broken failure; ConnectError, at the object's ready timeout the last cause.
 */
export function heldForCall(
  request: HoldRequest,
  signal: AbortSignal,
  parts: RpcHost,
): Promise<LocalHolding> {
  if (signal.aborted) return Promise.reject(ConnectError.from(signal.reason));
  return new Promise((resolve, reject) => {
    let lastCause: ConnectError = liveError("PARK_TIMEOUT");
    const fail = (error: Error): void => {
      settle();
      holding.release();
      reject(error);
    };
    const holding = parts.host.acquire(request, {
      loading: () => undefined,
      changed: () => undefined,
      bound: () => {
        settle();
        resolve(holding);
      },
      failed: ({ cause, retryAt }) => {
        lastCause = cause;
        if (retryAt === undefined) fail(new BrokenObject(cause));
      },
    });
    const timer = parts.clock.timer(parts.readyTimeoutMs ?? request.type.$readyTimeoutMs, () =>
      fail(lastCause),
    );
    const forget = onAbort(signal, (reason) => fail(ConnectError.from(reason)));
    const settle = (): void => {
      timer.cancel();
      forget();
    };
    holding.open();
  });
}

/** The values of a state, as a streaming handler gives them. */
export async function* stateValues(
  request: HoldRequest,
  member: string,
  signal: AbortSignal,
  parts: RpcHost,
): AsyncGenerator<Message> {
  const reader = new StateReader(member);
  const holding = parts.host.acquire(request, reader);
  const forget = onAbort(signal, () => reader.end());
  const late = (): void => reader.late();
  const timer = parts.clock.timer(parts.readyTimeoutMs ?? request.type.$readyTimeoutMs, late, {
    background: true,
  });
  try {
    holding.open();
    for (let value = await reader.next(); value !== undefined; value = await reader.next()) {
      timer.cancel();
      yield value;
    }
  } finally {
    timer.cancel();
    forget();
    holding.release();
  }
}

/** Holds the newest value that was not taken. */
class StateReader implements Holder {
  readonly #member: string;
  #newest: Message | undefined;
  #began = false;
  #lastCause: ConnectError | undefined;
  #ending: { readonly error: Error | undefined } | undefined;
  #wake: () => void = () => undefined;

  constructor(member: string) {
    this.#member = member;
  }

  /** Undefined: there is nothing more. */
  async next(): Promise<Message | undefined> {
    while (this.#newest === undefined && this.#ending === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#ending?.error !== undefined) throw this.#ending.error;
    const newest = this.#ending === undefined ? this.#newest : undefined;
    this.#newest = undefined;
    return newest;
  }

  end(error?: Error): void {
    this.#ending ??= { error };
    this.#wake();
  }

  /** The object was not there in its time. */
  late(): void {
    if (!this.#began) this.end(this.#lastCause ?? liveError("PARK_TIMEOUT"));
  }

  loading(): void {
    // The stream goes on with the next activation.
  }

  bound({ states }: Binding): void {
    const state = states.get(this.#member);
    if (state === undefined) this.end(liveError("NO_SUCH_MEMBER"));
    else if (state.failure !== undefined) this.end(state.failure);
    else this.#take(state.value);
  }

  failed({ cause, retryAt }: HoldingFailure): void {
    this.#lastCause = cause;
    if (retryAt === undefined) this.end(cause);
  }

  changed(member: string, change: Parameters<Holder["changed"]>[1]): void {
    if (member !== this.#member) return;
    if (change.kind === "failed") this.end(change.failure);
    else this.#take(change.value);
  }

  #take(value: Message): void {
    this.#began = true;
    this.#newest = value;
    this.#wake();
  }
}
