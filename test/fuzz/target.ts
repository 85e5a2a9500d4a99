import type { Chance } from "../codec/chance.ts";

/** A decoder under the fuzzer. */
export interface FuzzTarget {
  readonly name: string;
  /** Inputs to start from: good ones, and bad ones that were trouble somewhere. */
  readonly corpus: (chance: Chance) => readonly Uint8Array[];
  /**
   * Decodes one input and checks what came of it. Returns what happened in a few words, by which the fuzzer
   * tells new behaviour from known; throws when something is wrong.
   */
  readonly run: (input: Uint8Array) => string;
}
