/**
 * The first try of a call as a message of a wire, and what was sent as it is read back: the message is the record of
 * the call, for whoever goes on with it.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Call, ClientMessageSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { FirstCall } from "../codec/call-messages.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { payloadBytes, payloadOf } from "./packet.ts";

/**
 * Shapes a call with its request.
 *
 * @throws CodecError for a request that does not fit its types; RangeError for one above `bytesMost`.
 */
export function shapeFirstCall<I extends DescMessage>(
  codec: Codec,
  first: FirstCall,
  input: I,
  request: MessageShape<I>,
  bytesMost: number,
): Plain {
  if (codec.calls !== undefined) return codec.calls.shapeCall(first, input, request, bytesMost);
  const { id, method, timeoutMs } = first;
  const payload = payloadOf(codec, input, request);
  if (payloadBytes(payload) > bytesMost) throw new RangeError("the request is too large");
  const call: Call = {
    $typeName: "holdfast.link.v1.Call",
    id,
    hold: 0,
    method,
    request: payload,
    timeoutMs,
    headers: [],
  };
  if (first.callId !== "") call.stamp = stampOf(first);
  return codec.shape(ClientMessageSchema, {
    $typeName: "holdfast.link.v1.ClientMessage",
    kind: { case: "call", value: call },
  });
}

/** The call that was shaped so. */
export function firstCallIn(codec: Codec, shaped: Plain): Call {
  const { kind } = codec.unshape(ClientMessageSchema, shaped);
  if (kind.case === "call") return kind.value;
  throw new TypeError("this is not a call");
}

function stampOf({ callId, seq, settled, serverMs }: FirstCall): NonNullable<Call["stamp"]> {
  return {
    $typeName: "holdfast.link.v1.Stamp",
    callId,
    lane: "",
    seq,
    settled,
    tries: 1,
    firstSent: serverMs === undefined ? { case: "agoMs", value: 0 } : { case: "serverMs", value: serverMs },
    expectedCaller: "",
    anon: "",
  };
}
