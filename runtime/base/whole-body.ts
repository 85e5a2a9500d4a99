/**
 * Bodies that are there as a whole. Most requests and answers are one short message: handing that over in one
 * piece costs a fraction of an iteration, and whoever knows nothing of it iterates as ever.
 */

/** A body that is one piece. */
export class WholeBody implements AsyncIterable<Uint8Array> {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield this.bytes;
  }
}

/** A body that can be read to its end at once. */
export interface GatheringBody extends AsyncIterable<Uint8Array> {
  /** All bytes. In place of an iteration, once. Rejects as that does. */
  gather(): Promise<Uint8Array>;
}

/** All bytes of a body. */
export async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof WholeBody) return body.bytes;
  if ("gather" in body) return (body as GatheringBody).gather();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return joinedBytes(chunks);
}

/** The pieces as one. */
export function joinedBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
