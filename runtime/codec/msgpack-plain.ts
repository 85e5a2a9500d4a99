import { copyOf } from "./byte-copy.ts";
import type { Plain } from "./codec.ts";
import { CodecError } from "./codec-error.ts";

/** A message in msgpack: a part of a buffer, of one's own or of what was received. */
export class MsgpackPlain {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  /** To the outside it is opaque. */
  get plain(): Plain {
    return this as unknown as Plain;
  }

  /** Its bytes in memory of their own. */
  copied(): Uint8Array {
    return copyOf(this.bytes, this.start, this.end);
  }
}

/** Throws `CodecError` for what another codec shaped. */
export function msgpackPlain(plain: Plain): MsgpackPlain {
  if (plain instanceof MsgpackPlain) return plain;
  throw new CodecError("this was not shaped by the msgpack codec");
}
