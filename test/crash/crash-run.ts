/**
 * Kills a server, and now and then a client, at random moments under load, and looks afterwards whether what
 * the clients were told is what is there.
 *
 * Source: reliability decisions "Crash tests with real processes", invariants I1, I2, I16, I17.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { equals } from "@bufbuild/protobuf";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { LogbookStateSchema } from "./gen/test/crash/v1/logbook_pb.ts";
import { logbookRules } from "./logbook.ts";
import { complaints, makePrograms, type Programs, start, type Started } from "./programs.ts";
import { type Found, judge, readNotes, type Verdict } from "./verdict.ts";

export interface CrashOptions {
  readonly kills: number;
  readonly seed: number;
  /** Clients at once. */
  readonly clients: number;
  /** Commands of one client at once. */
  readonly atOnce: number;
  /** Told after each kill. */
  readonly onKill?: (count: number) => void;
}

export interface CrashResult extends Verdict {
  readonly kills: number;
  readonly clientKills: number;
}

/** A server lives for so many commands at most, then for so long: by commands, so that a slow machine has as many. */
const lifeCommandsMost = 60;
const lifeMsMost = 20;
/** One round in so many takes a client with it. */
const clientKillEvery = 5;

/** A client, and whose outbox it has: one that follows a killed one takes it over. */
interface Client extends Started {
  readonly account: string;
}

const waitMs = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));

export async function crash(options: CrashOptions): Promise<CrashResult> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-crash-"));
  const programs = await makePrograms();
  const run = new CrashRun(folder, programs, options);
  try {
    return await run.toTheEnd();
  } finally {
    run.killAll();
    for (const made of [folder, dirname(programs.server)]) rmSync(made, { recursive: true, force: true });
  }
}

class CrashRun {
  readonly #folder: string;
  readonly #programs: Programs;
  readonly #options: CrashOptions;
  readonly #random;
  readonly #clients: Client[] = [];
  #server: Started | undefined;
  #port = "0";
  /** Rejects when a client ends that nobody has ended: then nothing moves any more. */
  readonly #stray: Promise<never>;
  #fail: (error: Error) => void = () => undefined;
  #clientCount = 0;
  #clientKills = 0;

  constructor(folder: string, programs: Programs, options: CrashOptions) {
    this.#folder = folder;
    this.#programs = programs;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#stray = new Promise((_, reject) => (this.#fail = reject));
    this.#stray.catch(() => undefined);
  }

  toTheEnd(): Promise<CrashResult> {
    return Promise.race([this.#toTheEnd(), this.#stray]);
  }

  async #toTheEnd(): Promise<CrashResult> {
    const { kills, clients, onKill } = this.#options;
    let server = await this.#startServer();
    const accounts = Array.from({ length: clients }, (_, index) => `account${index + 1}`);
    for (const account of accounts) this.#startClient(account);
    for (let count = 1; count <= kills; count += 1) {
      await server.line(`busy ${1 + Math.floor(this.#random.fraction() * lifeCommandsMost)}`);
      await waitMs(this.#random.fraction() * lifeMsMost);
      server.process.kill("SIGKILL");
      await server.ended;
      const freed = count % clientKillEvery === 0 ? await this.#killClient() : undefined;
      onKill?.(count);
      server = await this.#startServer();
      // A link that has never reached a server on this machine gives up at once, so clients come after servers.
      if (freed !== undefined) this.#startClient(freed);
    }
    await server.line("busy");
    const clientsLeft = this.#clients.splice(0);
    for (const client of clientsLeft) client.process.stdin?.end();
    await Promise.all(clientsLeft.map((client) => client.ended));
    for (const account of accounts) {
      const last = this.#start(account, 0);
      last.process.stdin?.end();
      const how = await last.ended;
      if (how === "0") continue;
      throw new Error(`the outbox of ${account} is not empty (${how}):\n${complaints.slice(-20).join("\n")}`);
    }
    server.process.kill("SIGKILL");
    await server.ended;
    const verdict = judge(this.#notes(), await this.#found());
    return { ...verdict, kills, clientKills: this.#clientKills };
  }

  killAll(): void {
    for (const one of [this.#server, ...this.#clients]) one?.process.kill("SIGKILL");
  }

  async #startServer(): Promise<Started> {
    const server = start(this.#programs.server, [
      join(this.#folder, "ledger.db"),
      join(this.#folder, "outside"),
      this.#port,
    ]);
    this.#server = server;
    this.#port = (await server.line("listening")).split(" ")[1] ?? this.#port;
    return server;
  }

  #startClient(account: string): void {
    const client = this.#start(account, this.#options.atOnce);
    this.#clients.push(client);
    void client.ended.then((how) => {
      if (!this.#clients.includes(client)) return;
      const said = complaints.slice(-20).join("\n");
      this.#fail(new Error(`a client of ${account} ended by itself (${how}):\n${said}`));
    });
  }

  #start(account: string, atOnce: number): Client {
    this.#clientCount += 1;
    const name = `client${this.#clientCount}`;
    const notes = join(this.#folder, `${name}.notes`);
    const url = `http://127.0.0.1:${this.#port}`;
    const args = [url, notes, name, String(atOnce), join(this.#folder, "outboxes"), account];
    return { ...start(this.#programs.client, args), account };
  }

  /** Gives the account that is free now. */
  async #killClient(): Promise<string | undefined> {
    const oldest = this.#clients.shift();
    oldest?.process.kill("SIGKILL");
    await oldest?.ended;
    this.#clientKills += 1;
    return oldest?.account;
  }

  #notes(): ReturnType<typeof readNotes> {
    const files = readdirSync(this.#folder).filter((name) => name.endsWith(".notes"));
    return readNotes(files.map((name) => readFileSync(join(this.#folder, name), "utf8")));
  }

  async #found(): Promise<Found> {
    const outside = new Map<string, number>();
    const path = join(this.#folder, "outside");
    for (const line of existsSync(path) ? readFileSync(path, "utf8").split("\n") : []) {
      const [key = ""] = line.split(" ");
      if (key !== "") outside.set(key, (outside.get(key) ?? 0) + 1);
    }
    const file = join(this.#folder, "ledger.db");
    const places = await placesOf(file);
    const { rows, calls } = ledgerOf(file);
    return { rows: new Map([...rows, ...places]), calls, outside };
  }
}

/** What the engine's state says of each key, whichever way it starts. */
async function placesOf(file: string): Promise<Map<string, number[]>> {
  const store = sqliteStore(file);
  try {
    const [short, whole] = [await logbookRules.open(store), await logbookRules.open(store, { from: "log" })];
    if (!equals(LogbookStateSchema, short.state, whole.state)) {
      throw new Error("the engine's checkpoint and its log come to different states");
    }
    if (short.start.setAside !== undefined) throw new Error("the engine has set a part of its log aside");
    return new Map(Object.entries(whole.state.places).map(([key, { at }]) => [key, at.map(Number)]));
  } finally {
    await store.close();
  }
}

/** The table by key and by call, read as any other program would. */
function ledgerOf(file: string): {
  readonly rows: Map<string, number[]>;
  readonly calls: Map<string, number>;
} {
  const require = createRequire(import.meta.url);
  const Database = require("better-sqlite3") as new (
    file: string,
  ) => {
    prepare(sql: string): {
      all(): readonly { key: string; id: number; call: string | null }[];
      get(): unknown;
    };
    close(): void;
  };
  const database = new Database(file);
  try {
    const check = database.prepare("PRAGMA integrity_check").get() as { integrity_check: string };
    if (check.integrity_check !== "ok") throw new Error(`the file is damaged: ${check.integrity_check}`);
    const rows = new Map<string, number[]>();
    const calls = new Map<string, number>();
    for (const { key, id, call } of database.prepare("SELECT key, id, call FROM ledger").all()) {
      rows.set(key, [...(rows.get(key) ?? []), id]);
      if (call !== null) calls.set(call, (calls.get(call) ?? 0) + 1);
    }
    return { rows, calls };
  } finally {
    database.close();
  }
}
