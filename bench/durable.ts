// What sharing commits is worth: durable commands a second with many in flight, beside one commit for each, in turns
// in one run. Each command writes a row of its own and keeps its reply.
//   npm run bench:durable -- [--rounds N] [--in-flight N] [--json FILE]
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type SqliteStore, sqliteStore } from "holdfast/server/sqlite";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    "in-flight": { type: "string", default: "64" },
    json: { type: "string" },
  },
});
const rounds = Number(values.rounds);
const inFlight = Number(values["in-flight"]);
const roundMs = 1_000;

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown };
}

/** Makes commands for a while, each lane one after the other; gives what a second of it did and cost. */
async function round(
  store: SqliteStore,
  name: string,
): Promise<{ readonly perSecond: number; readonly cpuUsEach: number }> {
  const insert = (store.database as Database).prepare("INSERT INTO tasks (title, points) VALUES (?, ?)");
  const fingerprint = { version: 1, schema: new Uint8Array(16), print: new Uint8Array(16) };
  const reply = new Uint8Array(100);
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  let count = 0;
  const lane = async (number: number): Promise<void> => {
    const lane = `${name}-${number}`.padEnd(22, "_");
    for (let seq = 1; performance.now() - startMs < roundMs; seq += 1) {
      const key = { space: "by ada", id: `${lane}${seq}` };
      await store.find(key, lane, "by ada");
      await store.commit(
        {
          space: key.space,
          id: key.id,
          quota: "by ada",
          method: "bench.v1.Tasks.Add",
          fingerprint,
          seat: { lane, seq },
          settled: seq - 1,
          firstSentMs: 1,
        },
        () => {
          insert.run("water the plants", seq);
          return { kind: "ran", reply };
        },
      );
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, number) => lane(number)));
  const seconds = (performance.now() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(startCpu);
  return { perSecond: count / seconds, cpuUsEach: (user + system) / count };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

// In the project's own folder: a temporary one may lie in memory, where a sync costs nothing.
const folder = mkdtempSync(join(process.cwd(), "bench-durable-"));
try {
  const peers = [1, 64].map((commandsPerCommitMost) => {
    const store = sqliteStore(join(folder, `${commandsPerCommitMost}.db`), { commandsPerCommitMost });
    (store.database as Database).exec(
      "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, points INTEGER)",
    );
    return { commandsPerCommitMost, store, rates: [] as number[], cpuUs: [] as number[] };
  });
  for (let number = 0; number <= rounds; number += 1) {
    for (const { store, rates, cpuUs } of peers) {
      const { perSecond, cpuUsEach } = await round(store, `round${number}`);
      if (number === 0) continue; // warms up
      rates.push(perSecond);
      cpuUs.push(cpuUsEach);
    }
  }
  for (const { store } of peers) await store.close();
  const [alone, shared] = peers.map(({ rates }) => median(rates));
  const times = (shared ?? 0) / (alone ?? 1);
  for (const { commandsPerCommitMost, rates, cpuUs } of peers) {
    const figures = `${Math.round(median(rates))} commands a second, ${Math.round(median(cpuUs))} µs of CPU each`;
    console.log(`${commandsPerCommitMost} in a commit: ${figures}`);
  }
  if (values.json !== undefined) {
    const results = peers.map(({ commandsPerCommitMost, rates, cpuUs }) => ({
      commandsPerCommitMost,
      rates,
      cpuUs,
    }));
    writeFileSync(values.json, `${JSON.stringify({ inFlight, rounds, times, results }, null, 2)}\n`);
  }
  console.log(`bench: ok durable, ${inFlight} in flight: ${times.toFixed(1)} times one commit each`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
