import { fromBinary, toBinary, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";
import type { Plain } from "./codec.ts";
import { ProtoPlain } from "./proto-plain.ts";

// A slot is an empty message type that stands, inside another message, for a message of a type that only the
// method called can tell. The sender shapes the content and puts it in the slot; the codec writes the
// content's plain form where the slot is; the receiver unshapes the outer message, learns the method from
// it, and then unshapes the slot's content with the method's own type. Nothing is encoded twice, and JSON
// stays readable JSON.

const content = Symbol("holdfast slot content");

interface Filled {
  [content]?: Plain;
}

/** A slot message of type `slot` that carries `plain`, made by the codec that will shape the outer message. */
export function fillSlot<Desc extends DescMessage>(slot: Desc, plain: Plain): MessageShape<Desc> {
  // In the binary format a slot's content is unknown fields of an empty message: what any library makes of it.
  if (plain instanceof ProtoPlain) {
    const message = fromBinary(slot, plain.bytes);
    (message as Filled)[content] = plain;
    return message;
  }
  // What `create` makes of a type without members, for less: each call over a wire has four.
  const message = { $typeName: slot.typeName, [content]: plain } as Message as MessageShape<Desc>;
  return message;
}

/** What the slot of type `slot` carries, as it was filled or received. */
export function openSlot<Desc extends DescMessage>(slot: Desc, message: MessageShape<Desc>): Plain {
  return (message as Filled)[content] ?? new ProtoPlain(toBinary(slot, message)).plain;
}

/** What a slot to be sent carries. Throws `CodecError` if it was not made with `fillSlot`. */
export function slotContent(message: Message): Plain {
  const plain = (message as Filled)[content];
  if (plain === undefined) {
    throw new CodecError(
      `this ${message.$typeName} is empty: make it with fillSlot(schema, codec.shape(type, value))`,
    );
  }
  return plain;
}
