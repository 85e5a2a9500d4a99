/** Functions of another process, called by name: the parent's end and the child's. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** Functions that a process offers; each takes and gives what can be sent. */
export type Operations = Readonly<Record<string, (...input: never[]) => unknown>>;

/** The same functions from outside. */
export type Remote<T extends Operations> = {
  readonly [Name in keyof T]: (...input: Parameters<T[Name]>) => Promise<Awaited<ReturnType<T[Name]>>>;
};

interface Asked {
  readonly id: number;
  readonly name: string;
  readonly input: readonly unknown[];
}

interface Answered {
  readonly id: number;
  readonly output?: unknown;
  readonly failed?: string;
}

/** In the child: offers functions until the parent is gone. */
export function offer(operations: Operations): void {
  process.on("disconnect", () => process.exit());
  process.on("message", ({ id, name, input }: Asked) => {
    const operation = operations[name] as ((...input: readonly unknown[]) => unknown) | undefined;
    void answerOf(id, () => operation?.(...input)).then((answered) => process.send?.(answered));
  });
  process.send?.({ id: 0 });
}

async function answerOf(id: number, run: () => unknown): Promise<Answered> {
  try {
    return { id, output: await run() };
  } catch (error) {
    return { id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

export interface Child<T extends Operations> {
  readonly its: Remote<T>;
  /** Ends the process, so that it still writes its profile. */
  readonly stop: () => Promise<void>;
}

/** Starts a process, and resolves when it offers its functions. */
export async function start<T extends Operations>(
  file: URL,
  args: readonly string[],
  nodeOptions: readonly string[],
): Promise<Child<T>> {
  const child = fork(file, args, { execArgv: [...process.execArgv, ...nodeOptions] });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let askedCount = 0;
  const ready = new Promise((resolve, reject) => waiting.set(0, { resolve, reject }));
  child.on("message", ({ id, output, failed }: Answered) => {
    const its = waiting.get(id);
    waiting.delete(id);
    if (failed === undefined) its?.resolve(output);
    else its?.reject(new Error(`${args.join(" ")}: ${failed}`));
  });
  child.on("exit", (code, signal) => {
    const error = new Error(`the process ${args.join(" ")} ended by itself (${code ?? signal ?? "?"})`);
    for (const { reject } of waiting.values()) reject(error);
  });
  await ready;
  const call = (name: string, input: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (!child.connected) reject(new Error(`the process ${args.join(" ")} is gone`));
      askedCount += 1;
      waiting.set(askedCount, { resolve, reject });
      child.send({ id: askedCount, name, input });
    });
  const its = new Proxy(
    {},
    {
      get:
        (_, name: string) =>
        (...input: unknown[]) =>
          call(name, input),
    },
  );
  return { its: its as Remote<T>, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.disconnect();
  const patience = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(patience);
}
