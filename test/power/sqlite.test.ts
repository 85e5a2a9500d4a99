/** A power loss at every write and sync of a store in a file: what was told is there, and nothing is there by half. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import type { Told } from "./calls.ts";
import type { Image } from "./disk.ts";
import { everyLoss, type Loss, type LossOptions } from "./every-loss.ts";
import { restore, wrongIn } from "./sqlite-truth.ts";
import { type DiskEvent, traceOf, whyNoTrace } from "./trace.ts";

const why = whyNoTrace();
/** Real time that nothing here should ever need, however busy the machine is. */
const timeout = 300_000;

const title = `a store in a file whose power goes${why === undefined ? "" : ` (${why})`}`;

describe.skipIf(why !== undefined)(title, { timeout }, () => {
  /** In memory where that is possible: the syncs of thousands of openings are not what is tested. */
  const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-power-"));
  const traced = join(scratch, "traced");
  const opened = join(scratch, "opened");
  let events: readonly DiskEvent[] = [];
  beforeAll(() => {
    restore(new Map(), traced);
    events = traceOf("sqlite-program.ts", traced);
  }, timeout);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const look = async (traceEvents: readonly DiskEvent[], options: LossOptions, wrongMost = 10) => {
    const wrong: string[] = [];
    const losses: Loss[] = [];
    for (const loss of everyLoss(traceEvents, options)) {
      losses.push(loss);
      const found = await wrongIn(
        loss.image,
        loss.told.map((line) => JSON.parse(line) as Told),
        opened,
      );
      wrong.push(...found.map((text) => `${loss.name}: ${text}`));
      if (wrong.length >= wrongMost) break;
    }
    return { wrong, losses };
  };

  it("has all that was told and nothing by half, whenever that is", async () => {
    const { wrong, losses } = await look(events, { drawCount: 2 });
    expect(wrong).toEqual([]);
    expect(events.filter(({ kind }) => kind === "sync").length).toBeGreaterThan(30);
    expect(losses.length).toBeGreaterThan(400);
  });

  it("has it also when the power goes again while it is opened and goes on", async () => {
    const first = [...everyLoss(events, { drawCount: 2 })].filter(({ name }) => !name.endsWith("synced"));
    const random = seededRandom("again");
    for (let round = 0; round < 2; round++) {
      const { image, told } = random.pick(first);
      restore(image, traced);
      const start: Image = new Map([...image].filter(([path]) => !path.endsWith("-shm")));
      const { wrong } = await look(traceOf("sqlite-program.ts", traced), { start, told, drawCount: 1 });
      expect(wrong).toEqual([]);
    }
  });

  it.each<[string, (event: DiskEvent) => boolean]>([
    ["the log", (event) => event.kind === "sync" && event.path.endsWith("-wal")],
    ["the database", (event) => event.kind === "sync" && event.path.endsWith(".db")],
    ["the file beside it", (event) => event.kind === "sync" && event.path.endsWith("-mark.new")],
  ])("would lose or break something if %s were not synced", async (_, left) => {
    const { wrong } = await look(
      events.filter((event) => !left(event)),
      { drawCount: 2 },
      1,
    );
    expect(wrong.length).toBeGreaterThan(0);
  });
});
