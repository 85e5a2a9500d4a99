/**
 * An entry of an outbox: one command with all that a later process needs to send it as the same call, and its
 * bytes. Their form has a version of its own: an entry that a newer version wrote is not guessed at.
 *
 * Source: design "The outbox"; proto/holdfast/store/v1/store.proto.
 */
import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { OutboxEntrySchema } from "../../gen/holdfast/store/v1/store_pb.ts";
import { isId } from "../call/headers.ts";
import type { StampMemory } from "../call/stamp.ts";

/** A command that waits. */
export interface Entry {
  /** Its place in the order, and its name in the store. */
  readonly name: string;
  readonly server: string;
  readonly account: string;
  readonly service: string;
  readonly method: string;
  readonly request: Uint8Array;
  readonly requestType: string;
  readonly replyType: string;
  /** Call ID, lane, first sending, caller. */
  readonly stamp: StampMemory;
  /** Wall time in ms at which the call was made. */
  readonly madeAtMs: number;
  /** Undefined: a repeat of it is another command. Else what a repeat's key must be. */
  readonly mergeKey: string | undefined;
  /** The header that names a held object; undefined for other methods. */
  readonly params: string | undefined;
  readonly handlerMostMs: number | undefined;
}

/** The version of the bytes: 1 byte before the message. */
const version = 1;

export function entryBytes(entry: Entry): Uint8Array {
  const { stamp } = entry;
  const message = create(OutboxEntrySchema, {
    callId: stamp.callId,
    server: entry.server,
    account: entry.account,
    service: entry.service,
    method: entry.method,
    request: entry.request,
    requestType: entry.requestType,
    replyType: entry.replyType,
    lane: stamp.lane,
    seq: BigInt(stamp.seq),
    madeAtMs: bigMs(entry.madeAtMs),
    ...(stamp.firstSent === undefined ? {} : { firstSent: firstSentMessage(stamp.firstSent) }),
    ...(stamp.tag === undefined ? {} : { callerTag: stamp.tag }),
    anonymous: stamp.anonymous,
    merge: entry.mergeKey !== undefined,
    mergeKey: entry.mergeKey ?? "",
    params: entry.params ?? "",
    handlerMostMs: bigMs(entry.handlerMostMs ?? 0),
    tries: BigInt(stamp.tries),
  });
  const body = toBinary(OutboxEntrySchema, message);
  const bytes = new Uint8Array(body.byteLength + 1);
  bytes[0] = version;
  bytes.set(body, 1);
  return bytes;
}

/** Reads an entry; a text says why it cannot be one. */
export function readEntry(name: string, bytes: Uint8Array): Entry | string {
  if (bytes[0] !== version) return `its version is ${bytes[0] ?? "missing"}, this program reads ${version}`;
  let message: MessageShape<typeof OutboxEntrySchema>;
  try {
    message = fromBinary(OutboxEntrySchema, bytes.subarray(1));
  } catch (error) {
    return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  const { callId, lane, anonymous, firstSent, service, method, seq } = message;
  if (![callId, lane, anonymous].every(isId)) return "its call ID, its lane or its secret is missing";
  if (service === "" || method === "" || message.requestType === "" || message.replyType === "" || seq < 1n) {
    return "its method or its number is missing";
  }
  return {
    name,
    server: message.server,
    account: message.account,
    service,
    method,
    request: message.request,
    requestType: message.requestType,
    replyType: message.replyType,
    stamp: {
      callId,
      lane,
      seq: Number(seq),
      anonymous,
      tag: message.callerTag,
      tries: Number(message.tries),
      firstSent:
        firstSent === undefined
          ? undefined
          : {
              wallMs: Number(firstSent.wallMs),
              serverMs: firstSent.serverMs === undefined ? undefined : Number(firstSent.serverMs),
            },
    },
    madeAtMs: Number(message.madeAtMs),
    mergeKey: message.merge ? message.mergeKey : undefined,
    params: message.params === "" ? undefined : message.params,
    handlerMostMs: message.handlerMostMs === 0n ? undefined : Number(message.handlerMostMs),
  };
}

/** The method's path, as it stands in a URL and in what a person reads. */
export function methodPath(entry: Pick<Entry, "service" | "method">): string {
  return `${entry.service}/${entry.method}`;
}

function firstSentMessage(firstSent: NonNullable<StampMemory["firstSent"]>): {
  readonly wallMs: bigint;
  readonly serverMs?: bigint;
} {
  const { wallMs, serverMs } = firstSent;
  return { wallMs: bigMs(wallMs), ...(serverMs === undefined ? {} : { serverMs: bigMs(serverMs) }) };
}

/** A broken wall clock may give what no unsigned number can hold. */
function bigMs(ms: number): bigint {
  return BigInt(Math.max(0, Math.floor(ms)));
}
