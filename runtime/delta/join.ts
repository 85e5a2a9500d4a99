/**
 * Several changes as one, for who is too slow for each: nobody needs what lay between.
 *
 * Source: design "Wire: State deltas".
 */
import { type Change, operationCountMost } from "./operation.ts";

/** What leads from before `first` to after `second`, which follows it. */
export function joinChanges<T>(first: Change<T>, second: Change<T>): Change<T> {
  if (second.kind === "failed" || first.kind === "failed") return second;
  if (first.operations === undefined || second.operations === undefined) return wholeChange(second);
  const operations = [...first.operations, ...second.operations];
  return operations.length > operationCountMost ? wholeChange(second) : { ...second, operations };
}

/** The change as its newest value alone, which does not grow with what was missed. */
export function wholeChange<T>(change: Change<T>): Change<T> {
  if (change.kind === "failed" || change.operations === undefined) return change;
  return { ...change, operations: undefined };
}
