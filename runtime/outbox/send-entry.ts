/**
 * Sends one entry on nobody's behalf, by the same loop as every call. Where this process knows its method, the
 * request goes as the message that it is, so that interceptors and every transport see it; else as its bytes.
 *
 * Source: design "The outbox".
 */
import {
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { tryBeyondHandlerMs } from "../base/constants.ts";
import { HoldfastError } from "../base/errors.ts";
import { untilAborted } from "../base/signals.ts";
import { sendKept } from "../call/call.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import { headerNames } from "../call/headers.ts";
import type { Keep } from "../call/keep.ts";
import { type Ending, failure } from "./ending.ts";
import type { Entry } from "./entry.ts";
import { fateOf } from "./fate.ts";
import { rawMethod } from "./raw-method.ts";
import type { Record } from "./record.ts";

export interface Delivery {
  readonly env: CallEnvironment;
  readonly record: Record;
  /** The method's own descriptor, if this process has it. */
  readonly known: DescMethodUnary | undefined;
  /** Whether messages travel by the link's own transport, which can be told to use the binary form. */
  readonly ownTransport: boolean;
}

export type Delivered =
  | { readonly kind: "left"; readonly ending: Ending }
  /** Who has taken it out says how it ended; it may have been told that it has not run. */
  | { readonly kind: "gone" }
  | { readonly kind: "skipped" }
  | { readonly kind: "stays"; readonly error: HoldfastError; readonly pauses: boolean };

/** Sends until the entry has its outcome, a round's budget has ended, or the signal aborts. */
export async function deliver(delivery: Delivery, signal: AbortSignal): Promise<Delivered> {
  const { env, record } = delivery;
  const parcel = parcelOf(delivery);
  if (typeof parcel === "string") {
    env.log.error(`outbox: a command cannot be sent by this program: ${parcel}`);
    return { kind: "skipped" };
  }
  const { handlerMostMs, params } = record.entry;
  const gone = new AbortController();
  const options = {
    signal: AbortSignal.any([signal, gone.signal]),
    timeoutMs: Math.max(env.timing.budgetMs, (handlerMostMs ?? 0) + tryBeyondHandlerMs),
    ...(params === undefined ? {} : { headers: { [headerNames.params]: params } }),
  };
  const definition = {
    kind: "command",
    method: parcel.method,
    ...(handlerMostMs === undefined ? {} : { handlerMostMs }),
  } as const;
  try {
    const reply = await sendKept(
      env,
      definition,
      parcel.request,
      keepFor(delivery, parcel.raw, gone, options.signal),
      options,
    );
    return { kind: "left", ending: { kind: "reply", reply: toBinary(parcel.method.output, reply) } };
  } catch (error) {
    if (gone.signal.aborted) return { kind: "gone" };
    const known =
      error instanceof HoldfastError
        ? error
        : new HoldfastError(String(error), { outcome: "unknown", cause: error });
    const fate = fateOf(known, true);
    if (fate === "leaves") return { kind: "left", ending: failure(known) };
    await record.save();
    return { kind: "stays", error: known, pauses: fate === "pauses" };
  }
}

interface Parcel {
  /** Whether the request is bytes without their schema. */
  readonly raw: boolean;
  readonly method: DescMethodUnary;
  readonly request: MessageShape<DescMessage>;
}

function parcelOf({ record, known, ownTransport }: Delivery): Parcel | string {
  const { entry } = record;
  if (known !== undefined && known.input.typeName === entry.requestType) {
    const request = messageOf(known.input, entry);
    // A program of a newer build may have written it: what this one's schema does not know only the binary form carries.
    const whole = request !== undefined && (!ownTransport || isWhole(known.input, entry));
    if (whole) return { raw: false, method: known, request };
  }
  // Bytes without their schema have no JSON form, and a transport of the program's own may use one.
  if (!ownTransport)
    return `${entry.service}/${entry.method} was not called here yet, so its schema is not known`;
  const method = rawMethod(entry);
  if (typeof method === "string") return method;
  const request = messageOf(method.input, entry);
  return request === undefined
    ? `the request of ${entry.service}/${entry.method} is no message`
    : { raw: true, method, request };
}

/** Whether its schema knows all that a request holds. */
function isWhole(input: DescMessage, { request }: Entry): boolean {
  const read = fromBinary(input, request, { readUnknownFields: false });
  return toBinary(input, read).length === request.length;
}

function messageOf(input: DescMessage, entry: Entry): MessageShape<DescMessage> | undefined {
  try {
    return fromBinary(input, entry.request);
  } catch {
    return undefined;
  }
}

/** The sender has the turn already; what happens at the end is its business. */
function keepFor(
  { env, record }: Delivery,
  binary: boolean,
  gone: AbortController,
  signal: AbortSignal,
): Keep {
  return {
    stamp: record.stamp,
    stored: true,
    binary,
    turn: async () => {
      signal.throwIfAborted();
      return undefined;
    },
    look: async () => {
      if (!(await record.look())) gone.abort();
      signal.throwIfAborted();
      if (record.stamp.lacksTime) await untilAborted(env.askTime(), signal);
    },
    sending: (tag) => record.sending(tag),
    notSent: () => record.notSent(),
    replied: async () => undefined,
    failed: async (error) => error,
  };
}
