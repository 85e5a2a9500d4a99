/** The file under the pens of several processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { claimOf, ran } from "../store/store-suite.ts";
import { type Database, databaseOf, folder } from "./support.ts";

/** Reads, then writes, in transactions of its own, as a program that counts does. */
const program = `
  const Database = require("better-sqlite3");
  const database = new Database(process.argv[1], { timeout: 5000 });
  const count = database.transaction(() => {
    const { n } = database.prepare("SELECT n FROM counter").get();
    database.prepare("UPDATE counter SET n = ?").run(n + 1);
  });
  for (let i = 0; i < 150; i += 1) count.immediate();
`;

it("three programs that write all the time make no command fail, and lose and double nothing", async () => {
  await using files = folder();
  const store = files.open({ clock: systemClock });
  databaseOf(store).exec("CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (0)");
  const programs = [1, 2, 3].map(() =>
    spawn(process.execPath, ["-e", program, files.path("board.db")], {
      cwd: join(import.meta.dirname, "../.."),
      stdio: "inherit",
    }),
  );
  let running = programs.length;
  const ended = programs.map(async (one) => {
    const [code] = (await once(one, "exit")) as [number | null];
    running -= 1;
    return code;
  });
  let count = 0;
  while (running > 0) {
    count += 1;
    const committed = await store.commit(claimOf(`call${count}`), (tx) => {
      const { n } = (tx as Database).prepare("SELECT n FROM counter").get() as { n: number };
      (tx as Database).prepare("UPDATE counter SET n = ?").run(n + 1);
      return ran(1);
    });
    expect(committed).toEqual({ kind: "kept" });
  }
  expect(await Promise.all(ended)).toEqual([0, 0, 0]);
  expect(databaseOf(store).prepare("SELECT n FROM counter").get()).toEqual({ n: 450 + count });
  expect(databaseOf(store).prepare("SELECT count(*) AS n FROM holdfast_calls").get()).toEqual({ n: count });
});
