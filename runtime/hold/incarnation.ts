/**
 * The name of one activation of an object: 16 random bytes, of which there are as many as there are objects and
 * references. As characters they take a sixth of what an array of bytes does, and compare as one.
 */
import type { Random } from "../base/random.ts";

export const incarnationBytes = 16;

export function newIncarnation(random: Random): string {
  return incarnationOf(random.bytes(incarnationBytes));
}

export function incarnationOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

export function bytesOf(incarnation: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(incarnation.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = incarnation.charCodeAt(at);
  return bytes;
}

/** Whether the bytes name this activation. */
export function isIncarnation(bytes: Uint8Array, incarnation: string): boolean {
  if (bytes.length !== incarnation.length) return false;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] !== incarnation.charCodeAt(at)) return false;
  return true;
}
