/** The power goes at every moment of a traced program: what may then be on the disk, and what was told by then. */
import { createHash } from "node:crypto";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { Disk, type Image } from "./disk.ts";
import type { DiskEvent } from "./trace.ts";

export interface Loss {
  readonly image: Image;
  /** Lines that the program has told before. */
  readonly told: readonly string[];
  /** For the words of a failure. */
  readonly name: string;
}

export interface LossOptions {
  readonly start?: Image;
  readonly told?: readonly string[];
  /** Draws at each moment, beside the least and the most that may be there. */
  readonly drawCount: number;
}

export function* everyLoss(
  events: readonly DiskEvent[],
  { start, told: before = [], drawCount }: LossOptions,
): Generator<Loss> {
  const disk = new Disk(start);
  const told = [...before];
  let last = "";
  for (const [number, event] of events.entries()) {
    disk.apply(event);
    if (event.kind === "told") told.push(event.line);
    const moment = `after ${number} ${textOf(event)}`;
    const loss = (image: Image, how: string): Loss => ({ image, told: [...told], name: `${moment}: ${how}` });
    const { least, most } = disk;
    const name = nameOf(least, told.length);
    if (name !== last) yield loss(least, "only what was synced");
    last = name;
    // What was only told, or read, leaves the disk as it was.
    if (!disk.unsynced || event.kind === "told") continue;
    yield loss(most, "all that was written");
    for (let draw = 1; draw <= drawCount; draw++) {
      yield loss(disk.draw(seededRandom(`loss/${number}/${draw}`)), `draw ${draw}`);
    }
  }
}

/** Equal for two moments that leave the same. */
function nameOf(image: Image, toldCount: number): string {
  const hash = createHash("sha1").update(`${toldCount}`);
  for (const [path, bytes] of image) hash.update(`${path} ${bytes.length} `).update(bytes);
  return hash.digest("hex");
}

function textOf(event: DiskEvent): string {
  switch (event.kind) {
    case "told":
      return `told ${event.line}`;
    case "rename":
      return `rename ${event.from} to ${event.to}`;
    case "write":
      return `write ${event.bytes.length} bytes to ${event.path}`;
    default:
      return `${event.kind} ${event.path}`;
  }
}
