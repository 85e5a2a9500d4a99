/**
 * What an annotation takes where it says nothing. The generator writes these into the definitions, so that
 * the runtime never has to guess; a test holds them to the runtime's own constants, which the generator may
 * not import (it runs at build time, without a runtime).
 *
 * Source: the comments of proto/holdfast/v1/annotations.proto.
 */

/** Items that the server keeps of a stream, and that may wait for one reader. */
export const keepCount = 1_024;
export const roomCount = 256;
/** Ms without a byte after which a stream's connection is given up. */
export const idleMs = 45_000;
/** Ms between two heartbeats, and without one until the session is gone. */
export const everyMs = 30_000;
export const goneAfterMs = 180_000;
/** Ms that an object stays warm without holders, and that a `get` waits for it. */
export const lingerMs = 0;
export const readyTimeoutMs = 60_000;
