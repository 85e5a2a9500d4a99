/** What happens to the outbox whose power goes, and what must be in it then. */
import type { FileOutboxOptions } from "../../runtime/node/file-outbox.ts";

export interface OutboxStep {
  readonly name: string;
  /** What is put; undefined: it is dropped. */
  readonly version: number | undefined;
}

export const steps: readonly OutboxStep[] = [
  { name: "a", version: 1 },
  { name: "b", version: 1 },
  // As when an entry says that it was sent.
  { name: "a", version: 2 },
  { name: "b", version: undefined },
  { name: "c", version: 1 },
  { name: "a", version: 3 },
  { name: "a", version: undefined },
  { name: "c", version: 2 },
];

/** Of several sectors. */
export function bytesOf(name: string, version: number): Uint8Array {
  return Uint8Array.from(
    { length: 1_500 + 700 * version },
    (_, at) => (name.charCodeAt(0) + version + at) % 251,
  );
}

export function optionsOf(folder: string): Omit<FileOutboxOptions, "random"> {
  return { folder: `${folder}/state/holdfast`, server: "https://board.test", account: "ada" };
}
