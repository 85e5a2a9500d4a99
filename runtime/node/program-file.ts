/**
 * Which version of a program's file is there, told by what the file system says of it. A build is written in many
 * ways (over the old file, beside it and renamed, unpacked with the dates of its archive), and each of them changes
 * one of these.
 */
import { stat } from "node:fs/promises";
import { type Clock, sleep } from "../base/clock.ts";

/** Between two looks. A second without a change then means that nobody writes it any more. */
export const lookEveryMs = 500;
const stableLookCount = 2;

/** What tells one version from another; undefined: there is none, or it is being written. */
export async function versionOf(file: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file);
    return size === 0 ? undefined : [dev, ino, size, mtimeMs, ctimeMs].join(":");
  } catch {
    return undefined; // between the old file's end and the new one's beginning
  }
}

/** Whether the file was changed since an instant, in ms since 1970. */
export async function changedSince(file: string, atMs: number): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && found.ctimeMs > atMs;
}

/** Resolves with the version that is there, is not `old`, and has not changed for a second; undefined when aborted. */
export async function nextVersion(
  file: string,
  old: string | undefined,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  let last: string | undefined;
  let sameCount = 0;
  while (signal?.aborted !== true) {
    const found = await versionOf(file);
    sameCount = found !== undefined && found === last ? sameCount + 1 : 0;
    last = found;
    if (found !== undefined && found !== old && sameCount >= stableLookCount) return found;
    await sleep(clock, lookEveryMs, signal);
  }
  return undefined;
}
