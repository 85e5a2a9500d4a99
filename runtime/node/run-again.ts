/**
 * A program that its server refuses for another build, and that runs until it is stopped, need not be started again
 * by hand: it waits until its own file is another one, and runs that in its place, in the same terminal with the same
 * arguments.
 *
 * Node cannot replace a process by another program, so the first process stays and waits for the new one. A new one
 * that is refused in its turn ends, and lets the first wait and start the next: there are never more than two.
 *
 * Source: design "The state of the link".
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { type Clock, systemClock } from "../base/clock.ts";
import { changedSince, nextVersion, versionOf } from "./program-file.ts";

export interface RunAgainOptions {
  /** The file whose change means a new build. Default: the script that this process runs (`process.argv[1]`). */
  readonly file?: string;
  /** Called when the new build is there, just before it runs. A place to leave the terminal as it was found. */
  readonly onChange?: () => void;
  /** Ends the waiting; the code is then 1. It does not end a program that runs again. */
  readonly signal?: AbortSignal;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Tells a program that runs again which process waits for it, and which version of the file it is. */
const variable = "HOLDFAST_RUN_AGAIN";

/** What such a program sends to the process that waits for it. */
const waitForNext = "holdfast: run again";

/**
 * Waits until the program's file changes and then rests for a second, runs it again in place, and waits for its end.
 * A file that changed since this process began counts at once.
 *
 * Close the links of this process first, and end it with the code that this resolves with; do nothing else then. It
 * is the code of the program that ran again: 128 and the signal's number for one that a signal ended.
 *
 * Rejects when the program cannot be started.
 */
export async function runAgain(options: RunAgainOptions = {}): Promise<number> {
  const { file = process.argv[1], clock = systemClock, signal, onChange } = options;
  if (file === undefined)
    throw new TypeError("runAgain: this process runs no file; give it the option `file`");
  const waited = waitingProcess();
  if (waited !== undefined) {
    onChange?.();
    await tell(waitForNext);
    return 0;
  }
  const beganAtMs = clock.now() - process.uptime() * 1_000;
  let old = await versionOf(file);
  // In this order, so that a change between the two is not taken for the version that runs.
  if (await changedSince(file, beganAtMs)) old = undefined;
  for (let first = true; ; first = false) {
    const version = await nextVersion(file, old, clock, signal);
    if (version === undefined) return 1;
    if (first) onChange?.();
    const end = await run(version);
    if (!end.again) return end.code;
    old = version;
  }
}

/** The process that started this program again; undefined for one that a person started. */
function waitingProcess(): string | undefined {
  const value = process.env[variable];
  const own = value !== undefined && value.startsWith(`${process.ppid} `) && process.connected;
  return own ? value : undefined;
}

function tell(message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

interface End {
  readonly code: number;
  /** It was refused too, and has left the waiting to this process. */
  readonly again: boolean;
}

async function run(version: string): Promise<End> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    // A channel of its own beside the terminal, which says nothing for a program that does not know it.
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [variable]: `${process.pid} ${version}` },
  });
  const release = leaveSignalsTo(child);
  let again = false;
  child.on("message", (message) => {
    again ||= message === waitForNext;
  });
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      // Not `exit`: a message may still be on its way then.
      child.once("close", (code, signal) => resolve({ code: codeOf(code, signal), again }));
    });
  } finally {
    release();
  }
}

/**
 * The terminal sends Ctrl-C to both processes, and what it means is the running program's business; other ends are
 * sent to this one alone, and handed on.
 */
function leaveSignalsTo(child: ChildProcess): () => void {
  const hear = (): void => undefined;
  const handOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  const heard = ["SIGINT"] as const;
  const handedOn = ["SIGTERM", "SIGHUP"] as const;
  for (const name of heard) process.on(name, hear);
  for (const name of handedOn) process.on(name, handOn);
  return () => {
    for (const name of heard) process.off(name, hear);
    for (const name of handedOn) process.off(name, handOn);
  };
}

function codeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
