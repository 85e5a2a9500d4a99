export function run(
  command: string,
  args: readonly string[],
  options?: { cwd?: string; output?: "inherit" | "stderr" | "quiet" },
): number;
export function fail(line: string): never;
export function finish(summary: { name: string; ok: boolean; text: string; figures?: object }): void;
export function optionOf(name: string): string | undefined;
