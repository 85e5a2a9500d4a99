/**
 * The ID of a command call, and of the lane that it travels in: 16 random bytes as 22 characters of
 * base64url. Never made from the request: two equal requests may be two intents.
 */
import { base64Encode } from "@bufbuild/protobuf/wire";
import type { Random } from "../base/random.ts";

const idBytes = 16;

export function newId(random: Random): string {
  return base64Encode(random.bytes(idBytes), "url");
}
