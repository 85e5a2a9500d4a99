/**
 * The main job, shown: a server and a client with a bad network between them. Connections are cut, replies are
 * lost after the work is done, the server is away for three seconds and then killed between its work and its
 * reply; every try, fault, wait and repeat is printed. Then a notebook that two people hold lives through a drop, and
 * at the end a table shows that each of the board's commands ran once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { HoldfastError, type Interceptor, type Link, linkLine, linkOf, type Log } from "holdfast";
import { faultyProxy, type FaultyProxy } from "holdfast/testing/node";
import { playDrop } from "../notebook/act.ts";
import { type BoardClient, boardClient } from "./gen/board/v1/board_holdfast.ts";

const startedAt = performance.now();

type Who = "client" | "network" | "server" | "demo";
const colors = { client: "cyan", network: "yellow", server: "green", demo: "bold" } as const;

function say(who: Who, text: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(2).padStart(6);
  process.stdout.write(`${seconds} s  ${styleText(colors[who], who.padEnd(8))} ${text}\n`);
}

/** What is known of each command, by its call ID. */
interface Row {
  readonly command: string;
  tries: number;
  runs: number;
  outcome: string;
}
const rows = new Map<string, Row>();

function row(callId: string, command: string): Row {
  const known = rows.get(callId) ?? { command, tries: 0, runs: 0, outcome: "" };
  rows.set(callId, known);
  return known;
}

/** The server in a process of its own, on a file; it tells of each command that ran. */
class BoardProcess {
  readonly #file: string;
  #child: ChildProcess | undefined;
  #port = 0;
  #heard: (() => void)[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  get port(): number {
    return this.#port;
  }

  /** Starts it, at the port that it had. */
  async start(): Promise<void> {
    const path = fileURLToPath(new URL("server.ts", import.meta.url));
    const options = ["--port", String(this.#port), "--db", this.#file, "--runs"];
    const child = spawn(process.execPath, [...process.execArgv, path, ...options], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.#port = await new Promise((resolve, reject) => {
      child.once("exit", (code) =>
        reject(new Error(`the server ended with ${String(code)} before it listened`)),
      );
      createInterface({ input: child.stdout }).on("line", (line) => {
        const at = /^the board is at .*:(\d+)$/.exec(line);
        if (at !== null) resolve(Number(at[1]));
        const [word, method, callId] = line.split(" ");
        if (word === "ran" && method !== undefined && callId !== undefined) this.#ran(method, callId);
      });
    });
  }

  /** Resolves when a command has run. */
  nextRun(): Promise<void> {
    return new Promise((resolve) => this.#heard.push(resolve));
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  #ran(method: string, callId: string): void {
    row(callId, method).runs += 1;
    say("server", `runs ${method} (call ${callId.slice(0, 8)}…)`);
    for (const resolve of this.#heard.splice(0)) resolve();
  }
}

/** A Connect interceptor sees every try: its headers, its reply. */
const watchTries: Interceptor = (next) => async (request) => {
  const header = request.header.get("holdfast-call");
  const callId = /^"([^"]+)"/.exec(header ?? "")?.[1];
  const name = request.method.name.toLowerCase();
  const tries = /;t=(\d+)/.exec(header ?? "")?.[1];
  say(
    "client",
    `sends ${name}${callId === undefined ? "" : ` (call ${callId.slice(0, 8)}…, try ${tries ?? "1"})`}`,
  );
  if (callId !== undefined) row(callId, name).tries += 1;
  return next(request);
};

/** The link tells how each try ended, and what follows. */
const clientLog: Log = {
  info: (text) =>
    say(
      "client",
      text.replace(/^board\.v1\.BoardService\//, "").replace(/^\w+/, (name) => name.toLowerCase()),
    ),
  warn: (text) => say("client", text),
  error: (text) => say("client", text),
};

/** Makes a call, and notes what its program sees of it. */
async function call(
  title: string,
  made: Promise<unknown>,
  lastCall: () => string | undefined,
): Promise<void> {
  try {
    await made;
    say("demo", `${title}: done`);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    say("demo", `${title}: ${String(error.outcome)}, "${error.rawMessage}"`);
    const known = rows.get(error.callId ?? lastCall() ?? "");
    if (known !== undefined) known.outcome = String(error.outcome);
  }
}

interface Stage {
  readonly board: BoardClient;
  readonly bob: BoardClient;
  readonly proxy: FaultyProxy;
  readonly server: BoardProcess;
}

async function play({ board, bob, proxy }: Stage): Promise<void> {
  const last = (): string | undefined => [...rows.keys()].at(-1);
  say("demo", styleText("bold", "1. A quiet network"));
  await call("post", board.post({ title: "buy milk" }), last);

  say("demo", styleText("bold", "2. The connection is cut while a command is on its way"));
  const sent = proxy.next("requestBytes");
  const cut = call("post", board.post({ title: "water the plants" }), last);
  await sent;
  proxy.cut();
  say("network", "cuts the connection");
  await cut;

  say("demo", styleText("bold", "3. The reply is lost after the work is done"));
  proxy.replies.lost = true;
  const lost = proxy.next("replyLost");
  const claim = call("claim", board.claim({ id: "issue-1" }), last);
  await lost;
  say("network", "swallows the reply, then cuts the connection");
  proxy.cut();
  proxy.replies.lost = false;
  await claim;

  say("demo", styleText("bold", '4. A "no" whose reply is lost stays a "no"'));
  await call("list", bob.list({}), last);
  proxy.replies.lost = true;
  const lostNo = proxy.next("replyLost");
  const no = call("claim by bob", bob.claim({ id: "issue-1" }), last);
  await lostNo;
  say("network", "swallows the reply, then cuts the connection");
  proxy.cut();
  proxy.replies.lost = false;
  await no;

  say("demo", styleText("bold", "5. The server is away for three seconds"));
  await proxy.refuse();
  proxy.cut();
  say("network", "nobody listens any more");
  const away = Promise.all([
    call("release", board.release({ id: "issue-1" }), last),
    call("list", board.list({}), last),
    call("post", board.post({ title: "call the bank" }), last),
  ]);
  await sleep(3_000);
  await proxy.accept();
  say("network", "the server is back");
  await away;
}

async function playKill({ board, proxy, server }: Stage): Promise<void> {
  const last = (): string | undefined => [...rows.keys()].at(-1);
  say("demo", styleText("bold", "6. The server is killed between its work and its reply, and started again"));
  proxy.replies.lost = true;
  const ran = server.nextRun();
  const killed = call("post", board.post({ title: "mend the fence" }), last);
  await ran;
  await server.kill();
  proxy.cut();
  say("server", "is killed (SIGKILL): the work is in its file, the reply is gone");
  proxy.replies.lost = false;
  await server.start();
  say("server", "starts again, from its file");
  await killed;
  const { items } = await board.list({ all: true });
  say("demo", `the board after the start: ${items.map(({ title }) => `"${title}"`).join(", ")}`);
}

/** @returns whether the notebook's reader has seen all. */
function playHeld(): Promise<boolean> {
  say("demo", styleText("bold", "7. A held object lives through a drop"));
  return playDrop((who, text) =>
    who === "network" ? say("network", text) : say("client", `${who}: ${text}`),
  );
}

function table(): boolean {
  process.stdout.write(
    `\n${"command".padEnd(10)}${"call".padEnd(12)}${"tries".padEnd(7)}${"ran".padEnd(6)}outcome\n`,
  );
  for (const [callId, { command, tries, runs, outcome }] of rows) {
    const line = `${command.padEnd(10)}${callId.slice(0, 8).padEnd(12)}${String(tries).padEnd(7)}${String(runs).padEnd(6)}${outcome}`;
    process.stdout.write(`${line}\n`);
  }
  return [...rows.values()].every(({ runs }) => runs === 1);
}

function showState(link: Link, name: string): void {
  let shown = "idle";
  link.state.subscribe((state) => {
    // Each change once; a down that goes on with another cause is no change.
    if (state.kind !== shown) say("client", `${name}'s link: ${linkLine(state, Date.now()) ?? state.kind}`);
    shown = state.kind;
  });
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-board-"));
const server = new BoardProcess(join(folder, "board.db"));
await server.start();
const proxy = await faultyProxy({ target: { port: server.port } });
const options = { interceptors: [watchTries], log: clientLog, outbox: { folder } };
const ada = linkOf(proxy.origin, { ...options, account: "ada", token: () => "ada" });
const bob = linkOf(proxy.origin, { ...options, account: "bob", token: () => "bob" });
showState(ada, "ada");
showState(bob, "bob");
let onceEach = false;
let followed = false;
try {
  const stage = { board: boardClient(ada), bob: boardClient(bob), proxy, server };
  await play(stage);
  await playKill(stage);
  followed = await playHeld();
  for (const known of rows.values()) known.outcome ||= "replied";
  onceEach = table();
} finally {
  await Promise.all([ada.close(), bob.close()]);
  await proxy.close();
  await server.kill();
  rmSync(folder, { recursive: true });
}
if (!followed) say("demo", "the notebook's reader has not seen what was written");
const ok = onceEach && followed;
process.stdout.write(ok ? "\nstart: ok, each command ran once\n" : "\nstart: failed, see above\n");
process.exitCode = ok ? 0 : 1;
