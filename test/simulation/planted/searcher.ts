/**
 * What a bundle of the simulation runs: seeds that its parent sends, one after the other, until a checker cries. A
 * process of its own, since what is broken may never come back.
 */
import { drawPlan } from "../plan.ts";
import { runPlan } from "../run.ts";

export type SearchAnswer =
  | { readonly kind: "begins"; readonly seed: number }
  | { readonly kind: "found"; readonly seed: number; readonly rule: string; readonly text: string }
  | { readonly kind: "nothing" };

process.on("message", (message: { readonly seeds: readonly number[] }) => {
  void search(message.seeds).then(tell);
});

function tell(answer: SearchAnswer): void {
  process.send?.(answer);
}

async function search(seeds: readonly number[]): Promise<SearchAnswer> {
  for (const seed of seeds) {
    tell({ kind: "begins", seed });
    const [violation] = await violationsOf(seed);
    if (violation !== undefined) return { kind: "found", seed, ...violation };
    // A message leaves only when the loop turns.
    await new Promise((go) => setImmediate(go));
  }
  return { kind: "nothing" };
}

async function violationsOf(
  seed: number,
): Promise<readonly { readonly rule: string; readonly text: string }[]> {
  try {
    return (await runPlan(drawPlan(seed))).violations;
  } catch (error) {
    // A world that stops with an error is broken too.
    return [{ rule: "it stopped", text: String(error) }];
  }
}
