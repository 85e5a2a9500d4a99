/**
 * A lane is the number space of the commands of one life of a link. Each command takes the next number; a
 * number is settled when the program has its outcome and no try of it will be sent any more. What is settled
 * without a hole goes with each later command, and lets the server drop those replies and refuse late copies
 * of them.
 *
 * Source: reliability decision D3; design "Commands run once".
 */
export class Lane {
  readonly id: string;
  #last = 0;
  #settled = 0;
  /** Settled numbers above the first one that is not. */
  readonly #ahead = new Set<number>();

  constructor(id: string) {
    this.id = id;
  }

  /** The number of a new command. */
  next(): number {
    this.#last += 1;
    return this.#last;
  }

  /** All numbers up to this one are settled. */
  get settled(): number {
    return this.#settled;
  }

  /** The command of this number is over. */
  settle(seq: number): void {
    this.#ahead.add(seq);
    while (this.#ahead.delete(this.#settled + 1)) this.#settled += 1;
  }
}
