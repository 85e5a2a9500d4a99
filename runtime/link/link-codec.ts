/** Which codec packs a link's packets: msgpack is loaded with what uses it, JSON is the platform's or the program's. */
import type { Codec } from "../codec/codec.ts";
import { msgpackCodec } from "../codec/msgpack.ts";
import type { CodecName } from "../wire/handshake.ts";

/** @param json - that of the link, which has one where its options name it. */
export function codecOf({ json }: { readonly json: Codec | undefined }, name: CodecName): Codec {
  return (name === "json" ? json : undefined) ?? msgpackCodec;
}
