/** What sharing commits is worth: commands in SQLite with many in flight, beside one commit for each. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type SqliteStore, sqliteStore } from "holdfast/server/sqlite";
import { cpuUs } from "../sides/usage.ts";
import type { Figures, Workload, WorkloadRow } from "../workload.ts";

const inFlight = 64;

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown };
}

/** Makes commands for a while, each lane one after the other; each writes a row of its own and keeps its reply. */
async function commands(store: SqliteStore, name: string, seconds: number): Promise<Figures> {
  const insert = (store.database as Database).prepare("INSERT INTO tasks (title, points) VALUES (?, ?)");
  const fingerprint = { version: 1, schema: new Uint8Array(16), print: new Uint8Array(16) };
  const reply = new Uint8Array(100);
  const startMs = performance.now();
  const startCpu = cpuUs();
  let count = 0;
  const lane = async (number: number): Promise<void> => {
    const its = `${name}-${number}`.padEnd(22, "_");
    for (let seq = 1; performance.now() - startMs < seconds * 1_000; seq += 1) {
      const key = { space: "by ada", id: `${its}${seq}` };
      await store.find(key, its, "by ada");
      const command = {
        space: key.space,
        id: key.id,
        quota: "by ada",
        method: "bench.v1.Tasks.Add",
        fingerprint,
        seat: { lane: its, seq },
        settled: seq - 1,
        firstSentMs: 1,
      };
      await store.commit(command, () => {
        insert.run("water the plants", seq);
        return { kind: "ran", reply };
      });
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, number) => lane(number)));
  const took = (performance.now() - startMs) / 1_000;
  return { "commands/s": count / took, "server µs": (cpuUs() - startCpu) / count };
}

function row(name: string, commandsPerCommitMost: number): WorkloadRow {
  return {
    name,
    foreign: false,
    open({ seconds }) {
      // In the project's own folder: a temporary one may lie in memory, where a sync costs nothing.
      const folder = mkdtempSync(join(process.cwd(), ".holdfast/bench-"));
      const store = sqliteStore(join(folder, "bench.db"), { commandsPerCommitMost });
      (store.database as Database).exec(
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, points INTEGER)",
      );
      let roundCount = 0;
      const round = (): Promise<Figures> => commands(store, `round${(roundCount += 1)}`, seconds);
      return Promise.resolve({
        async warmUp() {
          await round();
        },
        round,
        async close() {
          await store.close();
          rmSync(folder, { recursive: true, force: true });
        },
      });
    },
  };
}

export const workloads: readonly Workload[] = [
  {
    name: "durable/shared commits",
    about: `SQLite alone: ${inFlight} commands in flight, each with a row of its own and a reply that is kept.`,
    base: "one command in a commit",
    ratioOf: "commands/s",
    rows: [row("one command in a commit", 1), row("up to 64 in a commit", 64)],
  },
];
