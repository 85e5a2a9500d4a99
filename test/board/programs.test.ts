/**
 * The board's commands that run on, as real processes: through pipes, and the live table in a terminal of its own,
 * while their server is stopped, started and replaced under them.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { boardServer, type BoardOptions } from "../../examples/board/board-server.ts";
import { boardClient } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { linkOf } from "../../runtime/node/index.ts";
import type { Server } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";

const cli = fileURLToPath(new URL("../../examples/board/cli.ts", import.meta.url));
const runner = ["--conditions=holdfast-source", "--import", "tsx"];
/** A process starts in a second or two, on a machine that has better to do in some more. */
const patience = { timeout: 60_000, interval: 20 };

let folder: string;
let server: Server | undefined;
let port = 0;
const programs: Program[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-board-"));
  port = 0;
});
afterEach(async () => {
  for (const { child } of programs.splice(0)) child.kill("SIGKILL");
  await server?.close({ within: 0 });
  rmSync(folder, { recursive: true });
});

async function start(options: Partial<BoardOptions> = {}): Promise<Server> {
  server = await boardServer({ store: sqliteStore(join(folder, "board.db")), ...options });
  ({ port } = await server.listen({ host: "127.0.0.1", port }));
  return server;
}

async function stop(): Promise<void> {
  await server?.close({ within: 0 });
  server = undefined;
}

interface Program {
  readonly child: ChildProcess;
  /** All that it printed so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves when it has printed this. */
  prints(text: string | RegExp): Promise<void>;
  says(text: string | RegExp): Promise<void>;
  ends(): Promise<number | null>;
}

function follow(child: ChildProcess): Program {
  const text = { out: "", err: "" };
  child.stdout?.on("data", (bytes: Buffer) => (text.out += bytes.toString()));
  child.stderr?.on("data", (bytes: Buffer) => (text.err += bytes.toString()));
  const ended = once(child, "close").then(([code]) => code as number | null);
  const program: Program = {
    child,
    out: () => text.out,
    err: () => text.err,
    prints: (wanted) => vi.waitFor(() => expect(text.out).toMatch(wanted), patience),
    says: (wanted) => vi.waitFor(() => expect(text.err).toMatch(wanted), patience),
    ends: () => ended,
  };
  programs.push(program);
  return program;
}

const env = (): NodeJS.ProcessEnv => ({ ...process.env, XDG_DATA_HOME: folder, NO_COLOR: "1" });

function board(by: string, ...command: readonly string[]): Program {
  const options = ["--url", `http://127.0.0.1:${port}`, "--as", by];
  const args = [...runner, cli, ...options, ...command];
  return follow(spawn(process.execPath, args, { env: env(), stdio: "pipe" }));
}

/** A client in this process. */
function clientOf(by: string) {
  const link = linkOf(`http://127.0.0.1:${port}`, { account: by, token: () => by, outbox: { folder } });
  return { client: boardClient(link), close: () => link.close() };
}

/** Resolves when so many streams are open. */
function streams(count: number): Promise<void> {
  const open = (): number => (server?.sessions() ?? []).reduce((sum, one) => sum + one.streamCount, 0);
  return vi.waitFor(() => expect(open()).toBe(count), patience);
}

describe("the board's commands that run on", { timeout: 180_000 }, () => {
  it("tell each happening once through a restart of the server, and show each change of the link once", async () => {
    await start();
    const ada = clientOf("ada");
    await ada.client.post({ title: "buy milk" });
    await ada.client.claim({ id: "issue-1" });
    await clientOf("bob").client.nudge({ id: "issue-1" });
    const tail = board("ada", "tail");
    const watch = board("bob", "watch");
    const chat = board("carl", "chat", "issue-1");
    await watch.prints("buy milk");
    await streams(3);
    await tail.says("bob asks for news of issue-1");
    await ada.client.say({ id: "issue-1", text: "soon\u001b[2J" });
    await Promise.all([tail.prints("ada said of issue-1: soon·[2J\n"), chat.prints("ada: soon·[2J\n")]);

    await stop();
    await Promise.all([tail, watch, chat].map((one) => one.says(/no reply from 127\.0\.0\.1:\d+ for/)));
    await start();
    await ada.client.post({ title: "water the plants" });
    chat.child.stdin?.write("and now?\n");
    await Promise.all([tail, watch, chat].map((one) => one.says(/back after \d+ s/)));
    await Promise.all([
      tail.prints("ada posted issue-2  water the plants\n"),
      tail.prints("carl said of issue-1: and now?\n"),
      watch.prints(/issue-2 +open +water the plants\n/),
      chat.prints("carl: and now?\n"),
    ]);

    for (const { child } of [tail, watch, chat]) child.kill("SIGINT");
    expect(await Promise.all([tail, watch, chat].map((one) => one.ends()))).toEqual([0, 0, 0]);
    expect(tail.out().trimEnd().split("\n")).toHaveLength(3);
    expect(watch.out().trimEnd().split("\n")).toHaveLength(2);
    expect(chat.out().trimEnd().split("\n")).toHaveLength(2);
    for (const one of [tail, watch, chat]) expect(one.err().match(/back after/g)).toHaveLength(1);
    await ada.close();
  });

  it("wait for a new build when the server refuses theirs, and run it in place", async () => {
    await start({ build: { id: "2.0.0", accepts: ({ major }) => major === 2 } });
    const file = join(folder, "program.mjs");
    const install = (build: string): void => {
      const lines = [`process.env.BOARD_BUILD = "${build}";`, `await import(${JSON.stringify(cli)});`];
      writeFileSync(file, `${lines.join("\n")}\n`);
    };
    install("1.4.0");
    const args = [...runner, file, "--url", `http://127.0.0.1:${port}`, "--as", "ada", "watch"];
    const program = follow(spawn(process.execPath, args, { env: env(), stdio: "pipe" }));
    await program.says(/refuses this build: .*2\.0\.0.*1\.4\.0/);
    await program.says("waits for a new build");
    install("2.1.0");
    await streams(1);
    program.child.kill("SIGTERM");
    expect(await program.ends()).toBe(0);
    expect(program.err().match(/refuses this build/g)).toHaveLength(1);
  });

  it("draw the live table in a terminal, with the link's line in it, and give the terminal back", async ({
    skip,
  }) => {
    if (spawnSync("script", ["--version"]).status !== 0) skip("there is no `script` to make a terminal");
    await start();
    const ada = clientOf("ada");
    await ada.client.post({ title: "buy milk" });
    const command = [
      process.execPath,
      ...runner,
      cli,
      "--url",
      `http://127.0.0.1:${port}`,
      "--as",
      "bob",
      "top",
    ];
    const top = follow(
      spawn("script", ["-qec", command.join(" "), "/dev/null"], { env: env(), stdio: "pipe" }),
    );
    await top.prints(/issue-1 +open +buy milk/);
    await top.prints(/bob +top +seen/);
    await ada.client.typing({ id: "issue-1" });
    await top.prints("(ada is typing)");
    await stop();
    await top.prints(/no reply from 127\.0\.0\.1:\d+ for 1 s/);
    await start();
    await top.prints("back after");
    await ada.client.claim({ id: "issue-1" });
    await top.prints("ada claimed issue-1");
    top.child.stdin?.write("q");
    expect(await top.ends()).toBe(0);
    expect(top.out().trimEnd().endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
    await ada.close();
  });

  it("say that the live table needs a terminal", async () => {
    await start();
    const top = board("ada", "top");
    expect(await top.ends()).toBe(1);
    expect(top.err()).toBe("board: top needs a terminal; `board watch` does without\n");
  });
});
