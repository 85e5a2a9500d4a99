/**
 * Errors on a wire: the same code, message and details that Connect carries over HTTP.
 *
 * Source: design "Wire".
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString, codeToString } from "@connectrpc/connect/protocol-connect";
import { type Error as LinkError, ErrorSchema } from "../../gen/holdfast/link/v1/link_pb.ts";

/** An error to be sent. What it was caused by stays here. */
export function toLinkError(error: ConnectError): LinkError {
  return create(ErrorSchema, {
    code: codeToString(error.code),
    message: error.rawMessage,
    details: error.details.map((detail) =>
      "desc" in detail
        ? { type: detail.desc.typeName, value: toBinary(detail.desc, create(detail.desc, detail.value)) }
        : { type: detail.type, value: detail.value },
    ),
  });
}

/** An error that came. A code that is unknown here is `unknown`. */
export function fromLinkError(error: LinkError | undefined): ConnectError {
  const made = new ConnectError(error?.message ?? "", codeFromString(error?.code ?? "") ?? Code.Unknown);
  for (const { type, value } of error?.details ?? []) made.details.push({ type, value });
  return made;
}
