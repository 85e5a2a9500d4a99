/**
 * Sequences that can do without a promise for each piece. What is read through several layers, one small message at a
 * time, else costs a chain of promises, which is more than all else that it takes.
 */

/** A sequence that offers each piece to a taker while somebody waits for it, and nothing before it is left. */
export interface Offering<T> {
  /**
   * `take` gives true for what it has taken; all else is given as ever. It must not throw.
   */
  onOffer(take: (piece: T) => boolean): void;
}

/** Takes what a sequence offers, if it does. */
export function takeOffered<T>(from: object, take: (piece: T) => boolean): void {
  if ("onOffer" in from) (from as Offering<T>).onOffer(take);
}
