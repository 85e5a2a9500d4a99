export { CodecError } from "./codec-error.ts";
export type { Codec, CodecOptions, Plain } from "./codec.ts";
export { createJsonCodec, jsonCodec } from "./json.ts";
export { createMsgpackCodec, msgpackCodec } from "./msgpack.ts";
export { createProtoCodec, protoCodec } from "./proto.ts";
export { fillSlot, openSlot } from "./slot.ts";
