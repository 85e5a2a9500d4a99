/** A program that runs its new build in place, as real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const module = new URL("../../runtime/node/run-again.ts", import.meta.url).href;

/** A build that says who it is and is refused by its server. */
function refused(name: string): string {
  return `import { runAgain } from ${JSON.stringify(module)};
console.log("${name} " + process.argv.slice(2).join(" "));
process.exitCode = await runAgain({ onChange: () => console.log("${name} ends") });
`;
}

/** One that is served: it ends when it is told to. */
const served = (
  name: string,
): string => `process.on("SIGTERM", () => { console.log("told to end"); process.exit(7); });
console.log("${name} " + process.argv.slice(2).join(" "));
setInterval(() => {}, 1000);
`;

let folder: string;
let file: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-again-"));
  file = join(folder, "program.mjs");
});
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

function install(text: string): void {
  writeFileSync(join(folder, "new"), text);
  renameSync(join(folder, "new"), file);
}

interface Program {
  readonly process: ChildProcess;
  line(): Promise<string>;
  readonly ended: Promise<unknown[]>;
}

function start(...args: readonly string[]): Program {
  const its = spawn(process.execPath, ["--import", "tsx", file, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child = its;
  const lines = createInterface({ input: its.stdout })[Symbol.asyncIterator]();
  return {
    process: its,
    line: async () => {
      const next = await lines.next();
      return next.done === true ? "(nothing more)" : next.value;
    },
    ended: once(its, "close"),
  };
}

describe("a program that is refused", () => {
  it("runs its new build with the same arguments, one after the other, and ends with the last one's code", async () => {
    install(refused("one"));
    const program = start("tail", "--as", "ada lovelace");
    expect(await program.line()).toBe("one tail --as ada lovelace");
    install(refused("two"));
    expect(await program.line()).toBe("one ends");
    expect(await program.line()).toBe("two tail --as ada lovelace");
    expect(await program.line()).toBe("two ends");
    install(served("three"));
    expect(await program.line()).toBe("three tail --as ada lovelace");
    program.process.kill("SIGTERM");
    expect(await program.line()).toBe("told to end");
    expect(await program.ended).toEqual([7, null]);
  });

  it("runs a build at once that came while the old one still ran", async () => {
    install(`import { once } from "node:events";
import { runAgain } from ${JSON.stringify(module)};
const awake = setInterval(() => {}, 1000);
const told = once(process, "SIGUSR2");
console.log("one");
await told;
clearInterval(awake);
process.exitCode = await runAgain();
`);
    const program = start();
    expect(await program.line()).toBe("one");
    install(`console.log("two"); process.exitCode = 3;`);
    program.process.kill("SIGUSR2");
    expect(await program.line()).toBe("two");
    expect(await program.ended).toEqual([3, null]);
  });

  it("ends as one that a signal ended when its new build does", async () => {
    install(refused("one"));
    const program = start();
    expect(await program.line()).toBe("one ");
    install(`console.log("two"); process.kill(process.pid, "SIGKILL");`);
    expect(await program.line()).toBe("one ends");
    expect(await program.line()).toBe("two");
    expect(await program.ended).toEqual([137, null]);
  });
});
