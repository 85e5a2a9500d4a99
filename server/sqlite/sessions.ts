/** Sessions that outlive the process, in the file. */
import type { KeptSession, KeptSessions } from "../store/kept-sessions.ts";
import type { SqliteConnection } from "./driver.ts";
import type { GroupCommit } from "./group-commit.ts";

export interface SqliteSessionsParts {
  readonly connection: SqliteConnection;
  readonly commits: Pick<GroupCommit, "add">;
  /** Runs a user's callback on the driver's database. */
  readonly run: <T>(work: (tx: never) => T | Promise<T>) => T;
  /** Runs statements of the store's own, whose errors are the store's. */
  readonly own: <T>(statements: () => T) => T;
}

interface Row {
  readonly id: string;
  readonly space: string;
  readonly name: string;
  readonly quota: string;
  readonly caller: string | null;
  readonly grants: string;
  readonly began_at_ms: number;
}

export function sqliteSessions(parts: SqliteSessionsParts): KeptSessions<never> {
  const { connection, commits, run, own } = parts;
  const list = connection.prepare("SELECT * FROM holdfast_sessions ORDER BY began_at_ms, id");
  const begin = connection.prepare(
    "INSERT OR IGNORE INTO holdfast_sessions (id, space, name, quota, caller, grants, began_at_ms) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const end = connection.prepare("DELETE FROM holdfast_sessions WHERE id = ?");
  return {
    async list() {
      return own(() => (list.all() as readonly Row[]).map(sessionOf));
    },
    begin: ({ id, space, name, quota, by, grants, beganAtMs }) =>
      commits.add(() => {
        own(() => begin.run(id, space, name, quota, by ?? null, JSON.stringify(grants), beganAtMs));
      }),
    end: (id, work) =>
      commits.add((guard) => {
        const result = guard(() => run(work));
        own(() => end.run(id));
        return result;
      }),
  };
}

function sessionOf({ id, space, name, quota, caller, grants, began_at_ms }: Row): KeptSession {
  return {
    id,
    space,
    name,
    quota,
    by: caller ?? undefined,
    grants: JSON.parse(grants) as string[],
    beganAtMs: began_at_ms,
  };
}
