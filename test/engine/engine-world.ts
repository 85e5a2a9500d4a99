/** An engine of the board on each kind of store, called as a server's dispatcher calls it. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { Board, type BoardHandlers } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { BoardStateSchema } from "../../examples/board/gen/board/v1/state_pb.ts";
import { boardRules } from "../../examples/board/rules.ts";
import { silentLog } from "../../runtime/base/log.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { EngineOpenOptions } from "../../server/engine/engine.ts";
import { memoryRows } from "../../server/engine/memory-log.ts";
import { checkSum } from "../../server/engine/record.ts";
import { type EngineHandler, replyAgainOf } from "../../server/engine/reply-again.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { memoryStore } from "../../server/store/memory-store.ts";
import type { SqlDatabase } from "../../server/store/sql-database.ts";
import type { Store } from "../../server/store/store.ts";

export type Command = "post" | "claim" | "release" | "close";

/** What a call came to, as a client sees it. */
export type Told = { readonly reply: string } | { readonly refused: string };

export type BoardEngine = Awaited<ReturnType<typeof boardRules.open>>;

export interface Caller {
  readonly by?: string;
  /** Absent: a plain client without a call ID. */
  readonly id?: string;
}

/** One row, as it lies in the store. */
export interface RawRow {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

export interface EngineWorld extends AsyncDisposable {
  readonly store: Store;
  readonly clock: VirtualClock;
  open(options?: EngineOpenOptions): Promise<BoardEngine>;
  rows(): readonly RawRow[];
  asideCount(): number;
  checkpointCount(): number;
  /** Puts other bytes into a row; with `whole` its check sum fits them. */
  damage(seq: number, change: (bytes: Uint8Array) => Uint8Array, whole?: boolean): void;
  damageCheckpoint(seq: number, change: (bytes: Uint8Array) => Uint8Array, whole?: boolean): void;
  drop(seq: number): void;
}

const engineName = "board.v1.BoardService";

export const worlds = {
  memory: memoryWorld,
  sqlite: sqliteWorld,
} as const;

function memoryWorld(): EngineWorld {
  const clock = virtualClock();
  const store = memoryStore({ clock });
  const held = memoryRows(store, engineName);
  return {
    store,
    clock,
    open: (options) => boardRules.open(store, { clock, trim: false, ...options }),
    rows: () => held.rows,
    asideCount: () => held.aside.length,
    checkpointCount: () => held.checkpoints.length,
    damage(seq, change, whole = false) {
      const at = held.rows.findIndex((row) => row.seq === seq);
      const row = held.rows[at];
      if (row === undefined) throw new Error(`no row ${seq}`);
      const bytes = change(row.bytes);
      held.rows[at] = { ...row, bytes, crc: whole ? checkSum(bytes) : row.crc };
    },
    damageCheckpoint(seq, change, whole = false) {
      held.checkpoints = held.checkpoints.map((row) => {
        if (row.seq !== seq) return row;
        const bytes = change(row.bytes);
        return { ...row, bytes, crc: whole ? checkSum(bytes) : row.crc };
      });
    },
    drop(seq) {
      held.rows.splice(
        held.rows.findIndex((row) => row.seq === seq),
        1,
      );
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function sqliteWorld(): EngineWorld {
  const clock = virtualClock();
  const store = sqliteStore(":memory:", { clock });
  const database = store.database as SqlDatabase;
  const count = (table: string): number =>
    (database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
  return {
    store,
    clock,
    open: (options) => boardRules.open(store, { clock, ...options }),
    rows: () =>
      database.prepare("SELECT seq, envelope AS bytes FROM holdfast_log ORDER BY seq").all() as RawRow[],
    asideCount: () => count("holdfast_log_aside"),
    checkpointCount: () => count("holdfast_log_checkpoints"),
    damage(seq, change, whole = false) {
      const row = database.prepare("SELECT envelope, crc FROM holdfast_log WHERE seq = ?").get(seq) as {
        envelope: Uint8Array;
        crc: number;
      };
      const bytes = change(new Uint8Array(row.envelope));
      const crc = whole ? checkSum(bytes) : row.crc;
      database.prepare("UPDATE holdfast_log SET envelope = ?, crc = ? WHERE seq = ?").run(bytes, crc, seq);
    },
    damageCheckpoint(seq, change, whole = false) {
      const row = database
        .prepare("SELECT checkpoint, crc FROM holdfast_log_checkpoints WHERE seq = ?")
        .get(seq) as { checkpoint: Uint8Array; crc: number };
      const bytes = change(new Uint8Array(row.checkpoint));
      const crc = whole ? checkSum(bytes) : row.crc;
      database
        .prepare("UPDATE holdfast_log_checkpoints SET checkpoint = ?, crc = ? WHERE seq = ?")
        .run(bytes, crc, seq);
    },
    drop: (seq) => void database.prepare("DELETE FROM holdfast_log WHERE seq = ?").run(seq),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Calls a command. Without the journal, so that a repeat meets the engine's own log. */
export async function call(
  world: Pick<EngineWorld, "store" | "clock">,
  board: BoardEngine,
  command: Command,
  request: object,
  { by = "ada", id }: Caller = {},
): Promise<Told> {
  const handler = handlerOf(board, command);
  const { input, output } = Board[command].method;
  const context = {
    caller: { by, grants: [] },
    session: undefined,
    callId: id,
    log: silentLog,
    clock: world.clock,
    transaction: <T>(write: (tx: unknown) => T | Promise<T>) => world.store.write(write),
  };
  const key = id === undefined ? undefined : { space: `by ${by}`, id };
  const message = create(input, request as MessageInitShape<typeof input>);
  try {
    const kept = await handler(message, context as never, key);
    const again = key === undefined ? undefined : await replyAgainOf(handler)?.(key, message);
    return { reply: hex(toBinary(output, (again ?? kept) as never)) };
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    return { refused: `${error.code} ${error.rawMessage}` };
  }
}

function handlerOf(board: BoardEngine, command: Command): EngineHandler {
  const handlers = board.handlers(notOfTheEngine);
  return handlers[command] as unknown as EngineHandler;
}

/** The state in bytes, to compare. */
export function stateHex(board: BoardEngine): string {
  return hex(toBinary(BoardStateSchema, board.state));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** The board's methods that no command of its engine is, and that its tests do not call. */
export const notOfTheEngine: Omit<BoardHandlers, "post" | "claim" | "release" | "close" | "say"> = {
  list: () => ({}),
  typing: () => ({}),
  nudge: () => ({}),
  alive: () => ({}),
  who: () => ({}),
  async *tail() {},
  async *chat() {},
};
