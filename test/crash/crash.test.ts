import { expect, it } from "vitest";
import { crash } from "./crash-run.ts";

it("loses no command, doubles none and lies about none, however often the server is killed", async () => {
  const { faults, counts, storedCount } = await crash({ kills: 6, seed: 1, clients: 2, atOnce: 16 });
  expect(faults).toEqual([]);
  expect(counts.ran).toBeGreaterThan(30);
  expect(storedCount).toBeGreaterThan(0);
}, 60_000);
