/**
 * The bytes of one file of an outbox: a head with what they are, how many, and their digest, so that a file that
 * was cut off, changed or filled with zeros is never taken for what was put.
 *
 * | bytes | what |
 * | --- | --- |
 * | 4 | "HFOB" |
 * | 1 | the version of this form |
 * | 4 | the length of the body, big endian |
 * | 32 | SHA-256 of the body |
 * | … | the body |
 *
 * Source: reliability decision D31.
 */
import { createHash } from "node:crypto";
import type { StoredBytes } from "../outbox/outbox-store.ts";

const magic = Buffer.from("HFOB");
const version = 1;
const lengthAt = magic.length + 1;
const digestAt = lengthAt + 4;
const digestBytes = 32;
const bodyAt = digestAt + digestBytes;

/** Bytes of a file beside its body. */
export const headBytes: number = bodyAt;

export function fileOf(body: Uint8Array): Uint8Array {
  const head = Buffer.alloc(bodyAt);
  magic.copy(head);
  head[magic.length] = version;
  head.writeUInt32BE(body.byteLength, lengthAt);
  digestOf(body).copy(head, digestAt);
  return Buffer.concat([head, body]);
}

/** The body of a file, or why it has none. */
export function bodyOf(file: Buffer): StoredBytes {
  if (file.length < bodyAt || !file.subarray(0, magic.length).equals(magic)) {
    return damaged(file.length < bodyAt ? "it is cut off" : "it is no entry of an outbox");
  }
  if (file[magic.length] !== version) {
    return damaged(`its form has version ${file[magic.length] ?? 0}, this program reads ${version}`);
  }
  const body = file.subarray(bodyAt);
  if (body.length !== file.readUInt32BE(lengthAt)) return damaged("it is cut off, or has more than was put");
  if (!digestOf(body).equals(file.subarray(digestAt, bodyAt)))
    return damaged("its bytes are not those that were put");
  return { kind: "whole", bytes: new Uint8Array(body) };
}

function damaged(why: string): StoredBytes {
  return { kind: "damaged", why };
}

function digestOf(body: Uint8Array): Buffer {
  return createHash("sha256").update(body).digest();
}
