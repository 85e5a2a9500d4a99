/**
 * The ID of a command call, and of the lane that it travels in: 16 random bytes as 22 characters of
 * base64url. Never made from the request: two equal requests may be two intents.
 */
import type { Random } from "../base/random.ts";

const idBytes = 16;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** 22 characters of six bits each, as their numbers. */
const codes = new Array<number>(Math.ceil((idBytes * 8) / 6)).fill(0);

/** By hand, since a text that grows by a character at a time is a chain of as many texts until somebody reads it. */
export function newId(random: Random): string {
  const bytes = random.bytes(idBytes);
  for (let i = 0; i < codes.length; i += 1) {
    const bit = i * 6;
    const at = bit >> 3;
    const two = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    codes[i] = alphabet.charCodeAt((two >> (10 - (bit & 7))) & 63);
  }
  return String.fromCharCode(...codes);
}
