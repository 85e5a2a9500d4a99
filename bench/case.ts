/** One workload that several peers do in their own way. */
export interface BenchCase {
  /** `workload/variant`, such as `codec/small`. */
  readonly name: string;
  /** What each peer does once; the order is that of the table. */
  readonly peers: Readonly<Record<string, () => unknown>>;
  /** The peer that the others' ratios refer to. */
  readonly base: string;
  /** Figures that need no clock, such as sizes in bytes, by peer. */
  readonly sizes?: Readonly<Record<string, number>>;
}
