/** What may go over a wire in one piece: a larger one would end the wire, and again at each new sending. */
import type { Payload } from "../../gen/holdfast/link/v1/link_pb.ts";
import { tooLargeError } from "../base/too-large.ts";
import { payloadBytes } from "../wire/packet.ts";

/** Bytes of an object's states in one binding, of one change, of one request: what fits a packet beside what it says else. */
const valueBytesMost = 4 * 1_048_576;

/**
 * @param what - names them, with its verb: "the request has".
 * @throws HoldfastError TOO_LARGE.
 */
export function assertFits(payloads: readonly (Payload | undefined)[], what: string): void {
  let bytes = 0;
  for (const payload of payloads) if (payload !== undefined) bytes += payloadBytes(payload);
  if (bytes <= valueBytesMost) return;
  throw tooLargeError(`${what} ${bytes} bytes, more than ${valueBytesMost} go over a wire`);
}
