/** Commands with an outbox on a reference, in real processes that are killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createSocketServer, type Server as SocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { createServer, memoryStore } from "../../server/index.ts";
import { Drafts } from "./drafts.ts";

/** Processes take their time to start on a busy machine, and the lock of one that was killed takes 10 s. */
const processesMs = 90_000;

const program = fileURLToPath(new URL("draft-process.ts", import.meta.url));

interface Started {
  readonly child: ChildProcess;
  line(start: string): Promise<string>;
  readonly end: Promise<unknown>;
}

function start(url: string, folder: string, what: string): Started {
  const child = spawn(
    process.execPath,
    ["--conditions=holdfast-source", "--import", "tsx", program, url, folder, what],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const lines: string[] = [];
  let look: () => void = () => undefined;
  let over = false;
  const reader = createInterface(child.stdout);
  reader.on("line", (line) => {
    lines.push(line);
    look();
  });
  reader.on("close", () => {
    over = true;
    look();
  });
  const end = new Promise((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await end;
  });
  return {
    child,
    end,
    line: (begin) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = lines.find((line) => line.startsWith(begin));
          if (found !== undefined) resolve(found);
          else if (over) reject(new Error(`the process said no "${begin}", but: ${lines.join(" | ")}`));
        };
        look();
      }),
  };
}

/** Takes connections and answers nothing. */
async function silentServer(): Promise<SocketServer> {
  const server = createSocketServer((socket) => void socket.on("error", () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return server;
}

it.each([
  ["an EARLY command is safe from the kill of its program once it is stored", "early", "stored "],
  ["a LATE command is safe once its call has ended without an answer", "late", "over"],
])(
  "%s: the next program sends it to the object, once, as the same call, with no reference",
  async (_, what, until) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-drafts-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const silent = await silentServer();
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const url = `http://127.0.0.1:${port}`;
    const first = start(url, folder, what);
    await first.line(until);
    const stored = await first.line("stored ");
    first.child.kill("SIGKILL");
    await first.end;
    await new Promise((resolve) => silent.close(resolve));

    // Its store is an hour old: what was sent to a dead server is not refused.
    const clock = { ...systemClock, now: () => systemClock.now() - 3_600_000 };
    const server = createServer({ store: memoryStore({ clock, random: systemRandom }) });
    const drafts = new Drafts(server);
    await server.listen({ host: "127.0.0.1", port });
    onTestFinished(() => server.close({ within: 0 }));
    const second = start(url, folder, "send");
    expect(await second.line("settled ")).toBe(`${stored.replace("stored", "settled")} reply`);
    expect(await second.line("waiting ")).toBe("waiting 0");
    expect(drafts.ran).toEqual([`Ännä ${what} x`]);
    expect(drafts.callIds).toEqual([stored.replace("stored ", "")]);
  },
  processesMs,
);
