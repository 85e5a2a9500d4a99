import type { Plain } from "./codec.ts";
import { CodecError } from "./codec-error.ts";
import { PackedPlain } from "./packed-plain.ts";

/** A message as JSON text in UTF-8. */
export class JsonPlain extends PackedPlain {}

/** Throws `CodecError` for what another codec shaped. */
export function jsonPlain(plain: Plain): JsonPlain {
  if (plain instanceof JsonPlain) return plain;
  throw new CodecError("this was not shaped by the JSON codec");
}
