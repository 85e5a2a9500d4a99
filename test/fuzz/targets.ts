import { codecTargets } from "./codec-targets.ts";
import type { FuzzTarget } from "./target.ts";

/** Every decoder that reads what a peer or a disk gives. A new decoder is added here. */
export const fuzzTargets: readonly FuzzTarget[] = [...codecTargets];
