/** A breakage of the sources: a small change of text, as a person might make it by mistake. */
import type { Plan } from "../plan.ts";

export interface Breakage {
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Worlds that are looked at first, since they have what it is about. Default: none before the others. */
  readonly where?: (plan: Plan) => boolean;
}
