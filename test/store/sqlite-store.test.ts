import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { sqliteStore } from "../../server/sqlite/sqlite-store.ts";
import { sessionsSuite } from "./sessions-suite.ts";
import { type StoreUnderTest, storeSuite } from "./store-suite.ts";

const inFile = async (clock: VirtualClock): Promise<StoreUnderTest> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-store-"));
  return {
    store: sqliteStore(join(folder, "board.db"), { clock, random: seededRandom(1) }),
    cleanUp: async () => rmSync(folder, { recursive: true }),
  };
};
storeSuite("sqliteStore in a file", inFile);
sessionsSuite("sqliteStore in a file", inFile);

storeSuite("sqliteStore in memory", async (clock) => ({
  store: sqliteStore(":memory:", { clock, random: seededRandom(1) }),
  cleanUp: async () => undefined,
}));
