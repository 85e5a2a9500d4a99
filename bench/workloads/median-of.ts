/** What happens in an instant is measured several times in a round. */
import { median } from "../report/median.ts";
import type { Figures } from "../workload.ts";

/** The medians of what `once` gives each time. */
export async function medianOf(once: () => Promise<Figures>, times: number): Promise<Figures> {
  const all: Figures[] = [];
  while (all.length < times) all.push(await once());
  const names = Object.keys(all[0] ?? {});
  return Object.fromEntries(names.map((its) => [its, median(all.map((one) => one[its] ?? Number.NaN))]));
}
