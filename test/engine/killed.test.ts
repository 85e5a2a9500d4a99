/** The board's server, killed under load and started again on its file: real processes, a real link. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { boardClient } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { boardRules } from "../../examples/board/rules.ts";
import { HoldfastError, linkOf } from "../../runtime/node/index.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { stateHex } from "./engine-world.ts";

const kills = 4;
const lanes = 8;
/** A server lives for so many commands at most. */
const runsMost = 40;

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
  /** Resolves when so many commands more have run. */
  runs(count: number): Promise<void>;
}

async function startServer(file: string, port: number): Promise<Server> {
  const script = join(import.meta.dirname, "../../examples/board/server.ts");
  const loader = ["--conditions=holdfast-source", "--import", "tsx"];
  const child = spawn(process.execPath, [...loader, script, "--port", String(port), "--db", file, "--runs"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let count = 0;
  let wanted: { readonly count: number; readonly resolve: () => void } | undefined;
  const listening = new Promise<number>((resolve, reject) => {
    child.once("exit", () => reject(new Error("the server ended before it listened")));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const at = /:(\d+)$/.exec(line)?.[1];
      if (at !== undefined) resolve(Number(at));
      if (!line.startsWith("ran ")) return;
      count += 1;
      if (wanted !== undefined && count >= wanted.count) wanted.resolve();
    });
  });
  return {
    child,
    port: await listening,
    runs: (more) =>
      new Promise((resolve) => {
        wanted = { count: count + more, resolve };
      }),
  };
}

it("loses no command that was answered and runs none twice, whenever the server is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-killed-"));
  const file = join(folder, "board.db");
  const random = seededRandom(20_261_130);
  let server = await startServer(file, 0);
  const link = linkOf(`http://127.0.0.1:${server.port}`, {
    account: "ada",
    token: () => "ada",
    outbox: { folder },
  });
  const board = boardClient(link);
  const told = new Map<string, string>();
  let over = false;
  const lane = async (number: number): Promise<void> => {
    for (let count = 1; !over; count += 1) {
      const title = `${number}-${count}`;
      try {
        told.set(title, (await board.post({ title })).item?.id ?? "");
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        told.set(title, error.outcome ?? "");
      }
    }
  };
  try {
    const work = Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
    for (let count = 0; count < kills; count += 1) {
      await server.runs(1 + Math.floor(random.fraction() * runsMost));
      server.child.kill("SIGKILL");
      await once(server.child, "exit");
      server = await startServer(file, server.port);
    }
    await server.runs(lanes);
    over = true;
    await work;
  } finally {
    over = true;
    const runs = server.child.exitCode === null && server.child.signalCode === null;
    const exit = runs ? once(server.child, "exit") : undefined;
    server.child.kill("SIGKILL");
    await exit;
    await link.close();
  }
  const store = sqliteStore(file);
  const [short, long] = [await boardRules.open(store), await boardRules.open(store, { from: "log" })];
  const ids = Object.values(short.state.items).map(({ title, id }) => [title, id] as const);
  expect(stateHex(short)).toBe(stateHex(long));
  expect(new Set(ids.map(([title]) => title)).size, "a title twice").toBe(ids.length);
  const there = new Map(ids);
  const answered = [...told].filter(([, id]) => id.startsWith("issue-"));
  expect(answered.length).toBeGreaterThan(lanes);
  expect(answered.filter(([title, id]) => there.get(title) !== id)).toEqual([]);
  await store.close();
  rmSync(folder, { recursive: true });
}, 120_000);
