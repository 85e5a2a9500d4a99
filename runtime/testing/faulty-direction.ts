/**
 * What one direction of a faulty proxy does to the bytes that go through it, and the queue that does it.
 */
import type { Socket } from "node:net";
import { type Clock, sleep } from "../base/clock.ts";

/** The faults of one direction. They hold for open connections too, from the next byte on. */
export interface Direction {
  /** Ms that each byte is late, order kept; a function draws it for each piece. Default 0. */
  delayMs: number | (() => number);
  /** Most bytes in one segment, 1 for the worst case of every parser. Default: as they come. */
  sliceBytes: number;
  /** Bytes a second. Default: no limit. */
  bytesPerSecond: number;
  /** Lets so many bytes more through, all connections together, then cuts the connection. Default: none. */
  cutAfterBytes: number;
  /** Swallows bytes and the end of the stream: the receiver waits, the sender knows nothing. Default: off. */
  lost: boolean;
  /** Holds all bytes back until `release`. */
  stall(): void;
  /** Lets held bytes go. */
  release(): void;
}

export class FaultyDirection implements Direction {
  delayMs: number | (() => number) = 0;
  sliceBytes: number = Number.POSITIVE_INFINITY;
  bytesPerSecond: number = Number.POSITIVE_INFINITY;
  cutAfterBytes: number = Number.POSITIVE_INFINITY;
  lost = false;
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;

  stall(): void {
    if (this.#gate !== undefined) return;
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = { opened, open };
  }

  release(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  async pass(): Promise<void> {
    while (this.#gate !== undefined) await this.#gate.opened;
  }

  heal(): void {
    Object.assign(this, new FaultyDirection());
    this.release();
  }
}

/** Read ahead of the faults; then the sender is made to wait, as by a full network. */
const aheadBytesMost = 1024 * 1024;

interface Piece {
  /** Undefined: the sender ended. */
  readonly bytes: Uint8Array | undefined;
  readonly dueAt: number;
}

export interface PipeHooks {
  readonly passed: (byteCount: number) => void;
  readonly lost: (byteCount: number) => void;
  /** The bytes of `cutAfterBytes` are through. */
  readonly cut: () => void;
}

/** Carries bytes from one socket to the other through the faults, in order, until one is gone. */
export function pipeFaulty(
  from: Socket,
  to: Socket,
  faults: FaultyDirection,
  clock: Clock,
  hooks: PipeHooks,
): void {
  const pieces: Piece[] = [];
  let aheadBytes = 0;
  let running = false;

  const run = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
      aheadBytes -= piece.bytes?.byteLength ?? 0;
      if (aheadBytes <= aheadBytesMost && from.isPaused()) from.resume();
      const lateMs = piece.dueAt - clock.monotonic();
      if (lateMs > 0) await sleep(clock, lateMs);
      await faults.pass();
      if (faults.lost) {
        if (piece.bytes !== undefined) hooks.lost(piece.bytes.byteLength);
      } else if (piece.bytes === undefined) to.end();
      else await forward(piece.bytes);
    }
  };
  const forward = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.byteLength && !to.destroyed; ) {
      const count = Math.min(faults.sliceBytes, faults.cutAfterBytes, bytes.byteLength - at);
      if (count > 0) {
        await write(to, bytes.subarray(at, at + count));
        hooks.passed(count);
        at += count;
        faults.cutAfterBytes -= count;
        if (faults.bytesPerSecond !== Number.POSITIVE_INFINITY) {
          await sleep(clock, (count * 1000) / faults.bytesPerSecond);
        }
      }
      if (faults.cutAfterBytes <= 0) {
        faults.cutAfterBytes = Number.POSITIVE_INFINITY;
        hooks.cut();
        return;
      }
    }
  };
  const take = (bytes: Uint8Array | undefined): void => {
    const delayMs = typeof faults.delayMs === "number" ? faults.delayMs : faults.delayMs();
    pieces.push({ bytes, dueAt: clock.monotonic() + delayMs });
    aheadBytes += bytes?.byteLength ?? 0;
    if (aheadBytes > aheadBytesMost) from.pause();
    if (running) return;
    running = true;
    void run().finally(() => {
      running = false;
    });
  };
  from.on("data", (bytes: Uint8Array) => take(bytes));
  from.on("end", () => take(undefined));
}

function write(to: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    to.write(bytes, () => resolve()); // also called with an error, which the socket's own events tell
  });
}
