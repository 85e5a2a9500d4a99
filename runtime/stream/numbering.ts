/**
 * Holds what the server sends to its numbers: each item is the last plus one, on the wire and not by inference. A
 * number out of order is a breach, and never passes in silence.
 *
 * After a drop the server sends again what arrived here and was not taken yet; those items are known already.
 *
 * Source: design "Streams: The client"; reliability decision D44.
 */
import type { Gap } from "../base/streams.ts";
import type { Position } from "./resume-point.ts";

/** A number that cannot follow the one before it. */
export class NumberingBreach extends Error {
  override readonly name = "NumberingBreach";
}

/** Who the program is told of. */
export type Numbered =
  | { readonly kind: "new"; readonly at: Position | undefined }
  | { readonly kind: "known" };

export class Numbering {
  /** Of the last item or gap that is in this program's hands. */
  #inHand: Position | undefined;
  /** Where the present connection stands. */
  #last: Position | undefined;
  #begun = false;

  /**
   * A connection has opened.
   *
   * @param asked - what was asked for; undefined: the beginning.
   * @returns the gap between what is in hand and what will come.
   */
  ready(asked: Position | undefined, at: Position | undefined, restarted: boolean): Gap | undefined {
    const first = !this.#begun;
    const before = this.#inHand;
    this.#begun = true;
    this.#last = at;
    if (first) {
      this.#inHand = at;
      return undefined;
    }
    // A numbering that went back under the same name has lost its end: it is another one, whatever it says.
    const wentBack = asked !== undefined && at !== undefined && at.seq < asked.seq;
    if (restarted || at === undefined || before === undefined || before.epoch !== at.epoch || wentBack) {
      this.#inHand = at;
      return { $gap: "restarted", count: undefined };
    }
    return this.#lostTo(at.seq);
  }

  /** Whether an item of this number is in its place. */
  isNext(seq: number): boolean {
    return seq === (this.#last === undefined ? 0 : this.#last.seq + 1);
  }

  /** @throws NumberingBreach */
  item(seq: number): Numbered {
    const last = this.#last;
    if (last === undefined) {
      if (seq === 0) return { kind: "new", at: undefined };
      throw new NumberingBreach(`item ${seq} came on a stream that does not number its items`);
    }
    if (seq !== last.seq + 1) throw new NumberingBreach(`item ${seq} came after item ${last.seq}`);
    const at = { epoch: last.epoch, seq };
    this.#last = at;
    if (seq <= (this.#inHand?.seq ?? 0)) return { kind: "known" };
    this.#inHand = at;
    return { kind: "new", at };
  }

  /**
   * The server no longer has items up to this number; with a count of 0 there never were any, since the numbers of
   * the stream skip.
   *
   * @returns what of that is not in hand; undefined for nothing.
   * @throws NumberingBreach
   */
  lost(count: number, seq: number): Gap | undefined {
    const last = this.#last;
    if (last === undefined) throw new NumberingBreach("items are lost of a stream that does not number them");
    // A server that had said so in `ready` says nothing new.
    if (seq < last.seq || (seq !== last.seq && count !== 0 && count !== seq - last.seq))
      throw new NumberingBreach(`${count} items up to ${seq} are lost after item ${last.seq}`);
    this.#last = { epoch: last.epoch, seq };
    if (count === 0) {
      if (seq > (this.#inHand?.seq ?? 0)) this.#inHand = this.#last;
      return undefined;
    }
    return this.#lostTo(seq);
  }

  #lostTo(seq: number): Gap | undefined {
    const inHand = this.#inHand;
    if (inHand === undefined || seq <= inHand.seq) return undefined;
    this.#inHand = { epoch: inHand.epoch, seq };
    return { $gap: "lost", count: seq - inHand.seq };
  }
}
