/** Commits the planned calls in a store in a file, and says of each when it is settled. Goes on where it was cut off. */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "../../server/sqlite/index.ts";
import type { Database } from "../sqlite/support.ts";
import { batches, claimOf, lane, outcomeOf, type PlannedCall, space, type Told } from "./calls.ts";
import { tellMark } from "./trace.ts";

const tell = (told: Told): void => void writeSync(1, `${tellMark}${JSON.stringify(told)}\n`);
const store = sqliteStore(join(process.argv[2] ?? "", "board.db"));
const database = store.database as Database;
// Pages go from the log into the database again and again, as they do once in a thousand in a long run.
database.exec("PRAGMA wal_autocheckpoint = 6");
database.exec("CREATE TABLE IF NOT EXISTS effects (call_id TEXT, text TEXT)");
tell({ what: "open", epoch: store.facts.epoch });

const session = { ...{ space, name: "tab", quota: space, by: "ada", grants: ["read"] }, beganAtMs: 5 };
const isOver = database.prepare("SELECT 1 FROM effects WHERE call_id = 'end'").all().length > 0;
if (!isOver) {
  await store.sessions.begin({ ...session, id: "session1" });
  tell({ what: "session", id: "session1", begun: true });
}
for (const [number, batch] of batches.entries()) {
  await Promise.all(batch.map(run));
  const text = `note ${number}`;
  await store.write((tx) => {
    (tx as Database).prepare("INSERT INTO effects VALUES (?, ?)").run(text, text);
  });
  tell({ what: "note", text });
}
if (!isOver)
  await store.sessions.end("session1", (tx) => {
    (tx as Database).prepare("INSERT INTO effects VALUES ('end', 'end')").run();
  });
tell({ what: "session", id: "session1", begun: false });
await store.close();

async function run(call: PlannedCall): Promise<void> {
  const { id, kind, seq } = call;
  const { kept, watermark } = await store.find({ space, id }, lane);
  if (seq <= watermark || (kept !== undefined && kept.outcome.kind !== "started")) return;
  if (kept !== undefined && kind === "started") return;
  try {
    await store.commit(claimOf(call), (tx) => {
      const insert = (tx as Database).prepare("INSERT INTO effects VALUES (?, ?)");
      if (call.effect !== undefined) insert.run(id, call.effect);
      return outcomeOf(call);
    });
  } catch (error) {
    if (kind !== "throws") throw error;
  }
  tell({ what: "call", id, kind });
}
