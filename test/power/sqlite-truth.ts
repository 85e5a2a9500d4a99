/** Opens what is left of a store after a power loss, with the code that ships, and says what is wrong with it. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Entry } from "../../server/store/store.ts";
import { type SqliteStore, sqliteStore } from "../../server/sqlite/index.ts";
import type { Database } from "../sqlite/support.ts";
import { batches, lane, outcomeOf, type PlannedCall, space, type Told } from "./calls.ts";
import type { Image } from "./disk.ts";

/** What stands of each ID when all is over: a call that had begun is the one that ended. */
const calls = [...new Map(batches.flat().map((call) => [call.id, call])).values()];

export function restore(image: Image, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [path, bytes] of image) {
    // Memory that programs share: whoever opens a database first after a start of the machine makes it anew.
    if (!path.endsWith("-shm")) writeFileSync(join(folder, basename(path)), bytes);
  }
  return join(folder, "board.db");
}

export async function wrongIn(
  image: Image,
  told: readonly Told[],
  folder: string,
): Promise<readonly string[]> {
  const file = restore(image, folder);
  const wrong: string[] = [];
  let store: SqliteStore | undefined;
  try {
    const warn = (text: string): void => void wrong.push(text);
    store = sqliteStore(file, { log: { info: () => undefined, warn, error: warn } });
    const opened = told.find(({ what }) => what === "open");
    // Before it was told that it is open nothing can be lost that anybody knows of.
    if (opened === undefined) wrong.length = 0;
    else if (opened.what === "open" && opened.epoch !== store.facts.epoch) wrong.push("its epoch is new");
    wrong.push(...(await wrongCalls(store, told)), ...(await wrongSession(store, told)));
    wrong.push(...wrongTables(store.database as Database));
  } catch (error) {
    wrong.push(`it cannot be opened: ${String(error)}`);
  } finally {
    await store?.close();
  }
  return wrong;
}

async function wrongCalls(store: SqliteStore, told: readonly Told[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const call of calls) {
    const { id, seq } = call;
    const { kept, watermark } = await store.find({ space, id }, lane);
    const texts = textsOf(store, id);
    const end = told.findLast((line) => line.what === "call" && line.id === id);
    const known = end?.what === "call" ? end.kind : undefined;
    const say = (text: string): void => void wrong.push(`${id} (told: ${known ?? "nothing"}) ${text}`);
    if (texts.length > 1) say(`has taken effect ${texts.length} times`);
    if (texts.some((text) => text !== call.effect)) say("has an effect that is not whole");
    const there = texts.length === 1;
    if (seq <= watermark) {
      if (known === undefined || known === "started")
        say("counts as settled, and nobody was told how it ended");
      if (there !== (call.effect !== undefined && call.kind !== "throws")) say(`was settled: ${there}`);
    } else {
      const text = whatIsWrong(call, kept, there, known);
      if (text !== undefined) say(text);
    }
  }
  for (const line of told) {
    if (line.what === "note" && textsOf(store, line.text).length === 0) wrong.push(`${line.text} is gone`);
  }
  return wrong;
}

function whatIsWrong(
  call: PlannedCall,
  kept: Entry | undefined,
  there: boolean,
  known: PlannedCall["kind"] | undefined,
): string | undefined {
  const { kind } = kept?.outcome ?? {};
  switch (kind) {
    case undefined:
      if (there) return "has an effect without its key";
      return known === undefined || known === "throws" ? undefined : "is forgotten";
    case "started":
      if (there) return "has an effect, and counts as begun";
      return known === undefined || known === "started" ? undefined : "counts as begun";
    case "ran":
    case "marker":
    case "refused":
      if (call.kind !== kind || JSON.stringify(kept?.outcome) !== JSON.stringify(outcomeOf(call))) {
        return `is kept as ${kind}, not as it ended`;
      }
      return there === (call.effect !== undefined) ? undefined : "has a key without its effect";
  }
}

async function wrongSession(store: SqliteStore, told: readonly Told[]): Promise<readonly string[]> {
  const there = (await store.sessions.list()).some(({ id }) => id === "session1");
  const last = told.findLast((line) => line.what === "session");
  const ended = textsOf(store, "end").length > 0;
  if (there && ended) return ["a session has ended, and is there"];
  if (last?.what !== "session") return [];
  if (last.begun) return there || ended ? [] : ["a session that began is gone"];
  return ended ? [] : ["a session's end is gone"];
}

/** The database by SQLite's own word, and the counts that the store keeps beside its rows. */
function wrongTables(database: Database): readonly string[] {
  const [row] = database.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
  const wrong = row?.integrity_check === "ok" ? [] : [`SQLite says: ${String(row?.integrity_check)}`];
  const usage = database.prepare("SELECT call_count AS n, byte_count AS b FROM holdfast_usage").all();
  const rows = database
    .prepare("SELECT count(*) AS n, sum(size_bytes) AS b FROM holdfast_calls GROUP BY quota")
    .all();
  if (rows.length > 0 && JSON.stringify(usage) !== JSON.stringify(rows)) {
    wrong.push(`usage is ${JSON.stringify(usage)}, its rows are ${JSON.stringify(rows)}`);
  }
  return wrong;
}

function textsOf(store: SqliteStore, id: string): readonly string[] {
  const database = store.database as Database;
  const table = "SELECT 1 FROM sqlite_master WHERE name = 'effects'";
  if (database.prepare(table).all().length === 0) return [];
  const rows = database.prepare("SELECT text FROM effects WHERE call_id = ?").all(id);
  return (rows as readonly { text: string }[]).map(({ text }) => text);
}
