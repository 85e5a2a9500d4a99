/** How a refusal lies in the log: what a handler throws to say no, and what a start makes of it again. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type RecordRefusal, RecordRefusalSchema } from "../../gen/holdfast/store/v1/engine_pb.ts";
import { reasonFrom } from "../../runtime/base/errors.ts";
import { isHandlerRefusal } from "../../runtime/base/handler-refusal.ts";

/** Texts and details beyond this are left out: a log is no place for what a client could make grow. */
const refusalBytesMost = 1_024;

/** Whether what was thrown refuses the command for good, as against a fault after which it may run again. */
export function isRefusal(thrown: unknown): thrown is ConnectError {
  if (!(thrown instanceof ConnectError)) return false;
  if (reasonFrom(thrown) === "REPLY_TOO_LARGE") return true;
  return isHandlerRefusal(thrown);
}

export function refusalOf(error: ConnectError): RecordRefusal {
  const details = error.details
    .map((detail) =>
      "type" in detail
        ? { type: detail.type, value: detail.value }
        : { type: detail.desc.typeName, value: toBinary(detail.desc, create(detail.desc, detail.value)) },
    )
    .filter(({ value }) => value.length <= refusalBytesMost);
  const message = error.rawMessage.slice(0, refusalBytesMost);
  return create(RecordRefusalSchema, { code: error.code, message, details });
}

export function errorOfRefusal(refusal: RecordRefusal): ConnectError {
  const error = new ConnectError(refusal.message, isCode(refusal.code) ? refusal.code : Code.Unknown);
  error.details = refusal.details.map(({ type, value }) => ({ type, value }));
  return error;
}

function isCode(value: number): value is Code {
  return value in Code;
}
