/** A power loss at every write and sync of an outbox in files: an entry that was put is there, whole, until it is dropped. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { fileOutbox } from "../../runtime/node/file-outbox.ts";
import { type Image } from "./disk.ts";
import { everyLoss } from "./every-loss.ts";
import { bytesOf, optionsOf, steps } from "./outbox-steps.ts";
import { type DiskEvent, traceOf, whyNoTrace } from "./trace.ts";

const why = whyNoTrace();
/** Real time that nothing here should ever need, however busy the machine is. */
const timeout = 300_000;
const title = `an outbox in files whose power goes${why === undefined ? "" : ` (${why})`}`;

describe.skipIf(why !== undefined)(title, { timeout }, () => {
  const scratch = mkdtempSync(join(tmpdir(), "holdfast-power-"));
  let events: readonly DiskEvent[] = [];
  beforeAll(() => {
    events = traceOf("outbox-program.ts", scratch);
  }, timeout);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const look = async (traceEvents: readonly DiskEvent[]) => {
    const wrong: string[] = [];
    let lossCount = 0;
    for (const { image, told, name } of everyLoss(traceEvents, { drawCount: 10 })) {
      lossCount += 1;
      wrong.push(...(await wrongIn(image, told.length, scratch)).map((text) => `${name}: ${text}`));
    }
    return { wrong, lossCount };
  };

  it("has every entry whole, as it was put last", async () => {
    const { wrong, lossCount } = await look(events);
    expect(wrong).toEqual([]);
    expect(lossCount).toBeGreaterThan(200);
  });

  it.each<[string, (event: DiskEvent) => boolean]>([
    ["files", (event) => event.kind === "sync" && event.path.endsWith(".part")],
    [
      "its folder",
      (event) => event.kind === "sync" && event.path.includes("/outbox/") && !event.path.endsWith(".part"),
    ],
    ["the folders above", (event) => event.kind === "sync" && !event.path.includes("/outbox/")],
  ])("would lose or break some if %s were not synced", async (_, left) => {
    const { wrong } = await look(events.filter((event) => !left(event)));
    expect(wrong.length).toBeGreaterThan(0);
  });
});

/** Opens what is left, with the code that ships, when so many steps were told. */
async function wrongIn(image: Image, toldCount: number, scratch: string): Promise<readonly string[]> {
  const folder = join(scratch, "opened");
  rmSync(folder, { recursive: true, force: true });
  for (const [path, bytes] of image) {
    const to = path.replace(scratch, folder);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    writeFileSync(to, bytes);
  }
  const outbox = fileOutbox({ ...optionsOf(folder), random: seededRandom("opened") });
  const wrong: string[] = [];
  const listed = (await outbox.list()).map(({ name }) => name);
  for (const name of ["a", "b", "c"]) {
    const found = listed.includes(name) ? await outbox.read(name) : undefined;
    const last = steps.slice(0, toldCount).findLast((step) => step.name === name)?.version;
    const next = steps[toldCount];
    // The step that was under way may have come to pass.
    const allowed = next?.name === name ? [last, next.version] : [last];
    if (found?.kind === "damaged") wrong.push(`${name} is damaged: ${found.why}`);
    const bytes = found?.kind === "whole" ? Buffer.from(found.bytes) : undefined;
    const fits = allowed.some((version) =>
      version === undefined ? found === undefined : bytes?.equals(bytesOf(name, version)) === true,
    );
    if (!fits) wrong.push(`${name} is ${found?.kind ?? "gone"}, and not version ${allowed.join(" or ")}`);
  }
  return wrong;
}
