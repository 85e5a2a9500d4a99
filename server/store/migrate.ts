/**
 * Versioned steps of a store's tables, so that a new build finds what it needs and an old one is stopped
 * before it misreads what it does not know.
 *
 * Each step says the least version that a build must know to open the store afterwards. A step that an older
 * build can ignore (a new table, a column with a default) leaves it as it was, so that a release can be rolled
 * back; one that it would misread raises it.
 *
 * Source: design "Stores".
 */
import { StoreError } from "./store.ts";

export interface MigrationStep {
  /** 1, 2, 3 …, without a gap. */
  readonly version: number;
  /** The least version that a build must know to open the store after this step; at most `version`. */
  readonly leastVersion: number;
  /** What the step runs, in the store's own language. */
  readonly statements: string;
}

/** How far a store has come; both 0 for an empty one. */
export interface StoreVersion {
  readonly version: number;
  readonly leastVersion: number;
}

/**
 * The steps that are still to run, in order. None for a store that a newer build has moved on, if this one may
 * open it.
 *
 * @param name - names the store in the error.
 * @throws StoreError when the store needs a newer build.
 */
export function stepsToRun(
  steps: readonly MigrationStep[],
  found: StoreVersion,
  name: string,
): readonly MigrationStep[] {
  const known = steps.length;
  if (found.leastVersion > known) {
    throw new StoreError(
      `${name} was written by a newer holdfast: its tables have version ${found.version} and need a release ` +
        `that knows version ${found.leastVersion}, this one knows ${known}. Run that release or a newer one, ` +
        "or restore a backup from before the update. Nothing was changed.",
      true,
    );
  }
  return steps.filter(({ version }) => version > found.version);
}

/** How far a store has come after some steps; `found` again when there were none. */
export function versionAfter(found: StoreVersion, steps: readonly MigrationStep[]): StoreVersion {
  const last = steps.at(-1);
  if (last === undefined) return found;
  const leastVersion = steps.reduce((least, step) => Math.max(least, step.leastVersion), found.leastVersion);
  return { version: last.version, leastVersion };
}
