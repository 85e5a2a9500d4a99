/**
 * A reply as it is kept, and read back from that, for replies that have nothing but text, numbers and flags at the top:
 * the same bytes and the same message as the long way makes (`outcome.ts`), for a fifth of its time. Whatever a value or
 * a field has that is out of the ordinary goes the long way.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { FlatPrint } from "./flat-print.ts";

/** A reply as it is kept, and read back from that. */
export interface KeptReply {
  readonly bytes: Uint8Array;
  readonly reply: Message;
}

const nothing = new Uint8Array();

class FlatReply {
  readonly #print: FlatPrint;
  /** Values that the long way has to write. */
  #unusualCount = 0;

  constructor(desc: DescMessage) {
    this.#print = new FlatPrint(desc, () => {
      this.#unusualCount += 1;
      return nothing;
    });
  }

  /** Undefined: it goes the long way. */
  kept(reply: Message): KeptReply | undefined {
    if (reply.$unknown !== undefined) return undefined;
    const before = this.#unusualCount;
    const bytes = this.#print.write(nothing, reply);
    return this.#unusualCount > before ? undefined : { bytes, reply: { ...reply } };
  }
}

/** Undefined: a type that has other fields, which every reply of it would have to be asked for. */
const replies = new WeakMap<DescMessage, FlatReply | undefined>();

function flatReplyOf(desc: DescMessage): FlatReply | undefined {
  if (replies.has(desc)) return replies.get(desc);
  const flat = desc.members.every((member) => FlatPrint.takes(member));
  const made = flat ? new FlatReply(desc) : undefined;
  replies.set(desc, made);
  return made;
}

/** Undefined: it goes the long way. */
export function keptFlatReply(desc: DescMessage, reply: Message): KeptReply | undefined {
  return flatReplyOf(desc)?.kept(reply);
}
