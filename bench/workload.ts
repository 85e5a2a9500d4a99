/** What is measured: rows that do the same work, each opened once and then measured in turns with the others. */
export interface Workload {
  /** `group/what`, such as `calls/64 in flight`. */
  readonly name: string;
  /** One sentence for the page. */
  readonly about: string;
  readonly rows: readonly WorkloadRow[];
  /** The row that the others' ratios refer to, and the figure that they are of. */
  readonly base: string;
  readonly ratioOf: string;
  /** How many rounds, if not as many as are asked for: 1 for what has no spread, such as bytes. */
  readonly roundCount?: number;
  /** One row is done before the next is opened, where all at once would be too much for one machine. Default: false. */
  readonly apart?: boolean;
}

export interface WorkloadRow {
  readonly name: string;
  /** Needs packages of peers. */
  readonly foreign: boolean;
  open(options: RunOptions): Promise<Runner>;
}

export interface RunOptions {
  /** Seconds of one round. */
  readonly seconds: number;
  /** Seconds of work before the first round: until then code runs that is not compiled yet, on both sides. */
  readonly warmUpSeconds: number;
  /** Where profiles of both sides are written; undefined: nowhere. */
  readonly profiles: string | undefined;
}

/** Figures of one round by their names; the name has the unit. */
export type Figures = Readonly<Record<string, number>>;

export interface Runner {
  /** Not counted. */
  warmUp?(): Promise<void>;
  round(): Promise<Figures>;
  close(): Promise<void>;
}

/** What one row has shown: the figures of each round. */
export interface RowResult {
  readonly row: string;
  readonly rounds: readonly Figures[];
  /** Why there are none. */
  readonly failed?: string;
}

export interface WorkloadResult {
  readonly workload: string;
  readonly about: string;
  readonly base: string;
  readonly ratioOf: string;
  readonly date: string;
  readonly rows: readonly RowResult[];
}
