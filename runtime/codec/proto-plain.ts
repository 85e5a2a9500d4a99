import type { Plain } from "./codec.ts";

/** A message in the protobuf binary format. */
export class ProtoPlain {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** To the outside it is opaque. */
  get plain(): Plain {
    return this as unknown as Plain;
  }
}
