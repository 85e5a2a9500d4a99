/**
 * The tables that holdfast keeps in a user's file, all under its own prefix. They stand beside the user's own
 * tables, so nothing of the file as a whole is used (`user_version`, `application_id` stay the user's).
 */
import type { MigrationStep } from "../store/migrate.ts";

export const steps: readonly MigrationStep[] = [
  {
    version: 1,
    leastVersion: 1,
    // A lane has a number, so that the index by which settled calls are dropped stays small. A call carries what its
    // lane was settled up to, so that a command writes no row of its lane. Calls are purged in the order of their
    // rows, which is that of their ends, so they need no index by time. Usage is counted in a table and not at the
    // start, which would read every key.
    statements: `
      CREATE TABLE holdfast_meta (
        name TEXT PRIMARY KEY,
        value NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE holdfast_lanes (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        lane TEXT NOT NULL,
        watermark INTEGER NOT NULL,
        last_at_ms INTEGER NOT NULL,
        UNIQUE (space, lane)
      );
      CREATE INDEX holdfast_lanes_by_time ON holdfast_lanes (last_at_ms);

      CREATE TABLE holdfast_calls (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        call_id TEXT NOT NULL,
        quota TEXT NOT NULL,
        method TEXT NOT NULL,
        print_version INTEGER NOT NULL,
        print_schema BLOB NOT NULL,
        print BLOB NOT NULL,
        lane_id INTEGER,
        seq INTEGER,
        settled INTEGER,
        first_sent_ms INTEGER,
        ended_at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        reply BLOB,
        refusal TEXT,
        size_bytes INTEGER NOT NULL,
        UNIQUE (space, call_id)
      );
      CREATE INDEX holdfast_calls_by_seat ON holdfast_calls (lane_id, seq) WHERE lane_id IS NOT NULL;

      CREATE TABLE holdfast_usage (
        quota TEXT PRIMARY KEY,
        call_count INTEGER NOT NULL,
        byte_count INTEGER NOT NULL
      ) WITHOUT ROWID;
    `,
  },
  {
    // An older build runs no end of a session; those that are kept have theirs when a newer one is back.
    version: 2,
    leastVersion: 1,
    statements: `
      CREATE TABLE holdfast_sessions (
        id TEXT PRIMARY KEY,
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        quota TEXT NOT NULL,
        caller TEXT,
        grants TEXT NOT NULL,
        began_at_ms INTEGER NOT NULL
      ) WITHOUT ROWID;
    `,
  },
  {
    // Of engines, which share them. A call is found by its name, so the calls of the last day need no place in memory
    // and none in a checkpoint; rows without one do not burden the index.
    version: 3,
    leastVersion: 1,
    statements: `
      CREATE TABLE IF NOT EXISTS holdfast_log (
        engine TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        call TEXT,
        envelope BLOB NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (engine, seq)
      ) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS holdfast_log_by_call ON holdfast_log (engine, call, seq) WHERE call IS NOT NULL;

      CREATE TABLE IF NOT EXISTS holdfast_log_aside (
        engine TEXT NOT NULL,
        set_aside_at_ms INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        call TEXT,
        envelope BLOB NOT NULL,
        crc INTEGER NOT NULL
      );

      CREATE TABLE IF NOT EXISTS holdfast_log_checkpoints (
        engine TEXT NOT NULL,
        seq INTEGER NOT NULL,
        checkpoint BLOB NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (engine, seq)
      );
    `,
  },
];
