/**
 * The budget that a client has left, from the header of its protocol. Connect turns it into a timer of the
 * system, which above 2^31-1 ms fires at once, so what Connect is shown is lowered to that; the handler is told
 * the whole budget. A value that cannot be read is left for Connect to refuse.
 *
 * Source: design "The API of a call".
 */
import { foreignTimeoutMsMost } from "../../runtime/base/constants.ts";
import type { HeaderLookup } from "./request-head.ts";

const connectTimeout = "connect-timeout-ms";
const grpcTimeout = "grpc-timeout";
const grpcUnitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/** The budget in ms that a request names; undefined without one. */
export function timeoutMsOf(header: HeaderLookup): number | undefined {
  if (isGrpc(header)) {
    const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(header.get(grpcTimeout) ?? "") ?? [];
    const unitMs = unit === undefined ? undefined : grpcUnitMs[unit];
    return unitMs === undefined ? undefined : Number(amount) * unitMs;
  }
  const value = header.get(connectTimeout);
  return value !== null && /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

/** Lowers the header to what a timer takes. Changes the headers given. */
export function lowerTimeout(header: Headers): void {
  const timeoutMs = timeoutMsOf(header);
  if (timeoutMs === undefined || timeoutMs <= foreignTimeoutMsMost) return;
  if (isGrpc(header)) header.set(grpcTimeout, `${Math.floor(foreignTimeoutMsMost / 1000)}S`);
  else header.set(connectTimeout, `${foreignTimeoutMsMost}`);
}

function isGrpc(header: HeaderLookup): boolean {
  return (header.get("content-type") ?? "").startsWith("application/grpc");
}
