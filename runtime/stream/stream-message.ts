/**
 * What a link message says of a stream, whichever connection brought it.
 *
 * Source: link.proto, "Streams".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Item, ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { StreamDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import { headerNames } from "../call/headers.ts";
import type { Codec } from "../codec/codec.ts";
import { CodecError } from "../codec/codec-error.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { messageIn } from "../wire/packet.ts";
import type { StreamMessage } from "./stream-connection.ts";

/**
 * Undefined for what says nothing of a stream.
 *
 * @throws HoldfastError for an item that cannot be read: it would be the same the next time, so that the stream
 * cannot go on.
 */
export function streamMessage<O extends DescMessage>(
  kind: ServerMessage["kind"],
  codec: Codec,
  definition: StreamDefinition<DescMessage, O>,
): StreamMessage<MessageShape<O>> | undefined {
  switch (kind.case) {
    case "ready": {
      const { at, restarted } = kind.value;
      return { kind: "ready", at: at && { epoch: at.epoch, seq: at.seq }, restarted };
    }
    case "item":
      return { kind: "item", seq: kind.value.seq, item: itemOf(kind.value, codec, definition) };
    case "lost":
      return { kind: "lost", count: kind.value.count, seq: kind.value.seq };
    case "end": {
      const { again, afterMs, lagged, error } = kind.value;
      return { kind: "end", again, afterMs, lagged, error: error && ofOurServer(fromLinkError(error)) };
    }
    // Welcome's facts were in the headers; what else comes is a sign of life, or of a later version.
    default:
      return undefined;
  }
}

/** It came in a packet of ours, which is as good as the header. */
export function ofOurServer(error: ConnectError): ConnectError {
  error.metadata.set(headerNames.server, "1");
  return error;
}

function itemOf<O extends DescMessage>(
  { seq, item }: Item,
  codec: Codec,
  { method }: StreamDefinition<DescMessage, O>,
): MessageShape<O> {
  try {
    return messageIn(codec, method.output, item);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    const text = `item ${seq} of ${method.parent.typeName}/${method.name} cannot be read: ${error.message}`;
    throw new HoldfastError(text, { cause: error });
  }
}
