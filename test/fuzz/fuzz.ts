import { Chance } from "../codec/chance.ts";
import { mutated } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

/** Something that an input did and must not do. */
export interface FuzzFinding {
  readonly target: string;
  readonly inputHex: string;
  readonly text: string;
}

export interface FuzzReport {
  readonly target: string;
  readonly runs: number;
  /** Different things that inputs led to. */
  readonly outcomes: number;
  readonly slowestMs: number;
  readonly finding: FuzzFinding | undefined;
}

/** One input longer than this is a hang: a thousand times what an input of this size takes. */
const hangMs = 2_000;
const corpusMax = 2_000;

/**
 * Runs inputs made by chance from a corpus, which grows by each input that leads to something new. Stops at
 * the first finding.
 */
export function fuzz(target: FuzzTarget, runs: number, seed: number): FuzzReport {
  const chance = new Chance(seed);
  const corpus = [...target.corpus(chance)];
  const outcomes = new Set<string>();
  const prototypeMembers = Object.getOwnPropertyNames(Object.prototype).length;
  let slowestMs = 0;
  for (let run = 0; run < runs; run++) {
    const input =
      run < corpus.length ? chosen(corpus, run) : mutated(chance.of(corpus), chance.of(corpus), chance);
    const given = Uint8Array.from(input);
    const started = performance.now();
    let text: string | undefined;
    try {
      const outcome = target.run(Uint8Array.from(given));
      if (!outcomes.has(outcome)) {
        outcomes.add(outcome);
        if (corpus.length < corpusMax) corpus.push(given);
      }
    } catch (error) {
      text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
    const tookMs = performance.now() - started;
    slowestMs = Math.max(slowestMs, tookMs);
    if (tookMs > hangMs) text ??= `took ${Math.round(tookMs)} ms`;
    if (Object.getOwnPropertyNames(Object.prototype).length !== prototypeMembers)
      text ??= "Object.prototype was changed";
    if (text !== undefined) {
      const finding = { target: target.name, inputHex: Buffer.from(given).toString("hex"), text };
      return { target: target.name, runs: run + 1, outcomes: outcomes.size, slowestMs, finding };
    }
  }
  return { target: target.name, runs, outcomes: outcomes.size, slowestMs, finding: undefined };
}

function chosen(corpus: readonly Uint8Array[], index: number): Uint8Array {
  return corpus[index] ?? new Uint8Array();
}
