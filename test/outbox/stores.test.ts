import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemRandom } from "../../runtime/base/random.ts";
import { fileOutbox } from "../../runtime/node/file-outbox.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import { outboxStoreSuite } from "./outbox-store-suite.ts";

outboxStoreSuite("an outbox in memory", async () => {
  const store = memoryOutbox();
  return () => store;
});

outboxStoreSuite("an outbox in files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-outbox-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return () => fileOutbox({ folder, server: "http://board.test", account: "", random: systemRandom });
});
