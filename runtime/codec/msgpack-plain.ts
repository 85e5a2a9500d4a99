import type { Plain } from "./codec.ts";
import { CodecError } from "./codec-error.ts";
import { PackedPlain } from "./packed-plain.ts";

/** A message in msgpack. */
export class MsgpackPlain extends PackedPlain {}

/** Throws `CodecError` for what another codec shaped. */
export function msgpackPlain(plain: Plain): MsgpackPlain {
  if (plain instanceof MsgpackPlain) return plain;
  throw new CodecError("this was not shaped by the msgpack codec");
}
