/**
 * What may be on a disk when the power goes. What was synced is there. Of what was written since, any sector may be
 * there or not, in whatever order it was written, and one may be torn; a file may have grown without its bytes, which
 * are then zeros or rubbish. A name is where it was, or where it went, until its folder was synced.
 *
 * It is harsher than any file system that is in use, which writes names in their order and grows a file when its
 * bytes are there.
 */
import { dirname } from "node:path";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { DiskEvent } from "./trace.ts";

type Change =
  | { readonly kind: "bytes"; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "size"; readonly sizeBytes: number };

interface File {
  durable: Buffer;
  pending: Change[];
  /** Where a write without a place goes. */
  end: number;
}

type Naming =
  | { readonly kind: "add"; readonly path: string; readonly file: File }
  | { readonly kind: "move"; readonly path: string; readonly to: string }
  | { readonly kind: "remove"; readonly path: string };

/** Files by their paths. */
export type Image = ReadonlyMap<string, Buffer>;

const sectorBytes = 512;
/** Stands for a folder that was made meanwhile: what is in it is there if it is. */
const folderFile: File = { durable: Buffer.alloc(0), pending: [], end: 0 };

export class Disk {
  /** As programs see them. */
  readonly #names = new Map<string, File>();
  #durable = new Map<string, File>();
  #namings: Naming[] = [];
  readonly #made = new Set<string>();

  /** @param start - what is on the disk already. */
  constructor(start: Image = new Map()) {
    for (const [path, bytes] of start) {
      const file = { durable: bytes, pending: [], end: 0 };
      this.#names.set(path, file);
      this.#durable.set(path, file);
    }
  }

  apply(event: DiskEvent): void {
    switch (event.kind) {
      case "open":
        this.#open(event.path, event.truncate);
        return;
      case "write": {
        const file = this.#names.get(event.path);
        if (file === undefined) return; // its name is gone, and with it what it holds
        const at = event.at ?? file.end;
        if (event.at === undefined) file.end += event.bytes.length;
        file.pending.push({ kind: "bytes", at, bytes: event.bytes });
        return;
      }
      case "resize":
        this.#names.get(event.path)?.pending.push({ kind: "size", sizeBytes: event.sizeBytes });
        return;
      case "sync":
        this.#sync(event.path);
        return;
      case "rename": {
        const file = this.#names.get(event.from);
        if (file === undefined) return;
        this.#names.delete(event.from);
        this.#names.set(event.to, file);
        this.#namings.push({ kind: "move", path: event.from, to: event.to });
        return;
      }
      case "remove":
        if (this.#names.delete(event.path)) this.#namings.push({ kind: "remove", path: event.path });
        return;
      case "folder":
        this.#made.add(event.path);
        this.#namings.push({ kind: "add", path: event.path, file: folderFile });
        return;
      case "told":
        return;
    }
  }

  /** Whether anything is not on the disk for certain. */
  get unsynced(): boolean {
    return this.#namings.length > 0 || [...this.#names.values()].some(({ pending }) => pending.length > 0);
  }

  /** What is there when nothing was written but what was synced. */
  get least(): Image {
    return this.#image(this.#durable, (file) => file.durable);
  }

  /** What is there when everything was written, as after the end of a process alone. */
  get most(): Image {
    const names = named(this.#durable, this.#namings);
    return this.#image(names, (file) => applied(file.durable, file.pending));
  }

  /** One of the many that lie between. */
  draw(random: SeededRandom): Image {
    const inOrder = random.chance(0.5);
    const share = random.fraction();
    const kept = inOrder
      ? this.#namings.slice(0, random.int(this.#namings.length + 1))
      : this.#namings.filter(() => random.chance(share));
    const files = new Map<File, Buffer>();
    const bytesOf = (file: File): Buffer => {
      const bytes = files.get(file) ?? drawBytes(file, random);
      files.set(file, bytes);
      return bytes;
    };
    return this.#image(named(this.#durable, kept), bytesOf);
  }

  #image(names: ReadonlyMap<string, File>, bytesOf: (file: File) => Buffer): Image {
    const there = [...names].filter(([path, file]) => file !== folderFile && this.#isReached(path, names));
    return new Map(there.map(([path, file]) => [path, bytesOf(file)]));
  }

  /** Whether the folders above it are there. */
  #isReached(path: string, names: ReadonlyMap<string, File>): boolean {
    const above = dirname(path);
    if (above === path || !this.#made.has(above)) return true;
    return names.has(above) && this.#isReached(above, names);
  }

  #open(path: string, truncate: boolean): void {
    const found = this.#names.get(path);
    if (found !== undefined) {
      found.end = 0;
      if (truncate) found.pending.push({ kind: "size", sizeBytes: 0 });
      return;
    }
    const file = { durable: Buffer.alloc(0), pending: [], end: 0 };
    this.#names.set(path, file);
    this.#namings.push({ kind: "add", path, file });
  }

  #sync(path: string): void {
    const file = this.#names.get(path);
    if (file !== undefined) {
      file.durable = applied(file.durable, file.pending);
      file.pending = [];
      return;
    }
    // A move is one change, whichever of its folders is synced.
    const inside = (naming: Naming): boolean =>
      dirname(naming.path) === path || (naming.kind === "move" && dirname(naming.to) === path);
    this.#durable = named(this.#durable, this.#namings.filter(inside));
    this.#namings = this.#namings.filter((naming) => !inside(naming));
  }
}

function named(names: ReadonlyMap<string, File>, namings: readonly Naming[]): Map<string, File> {
  const after = new Map(names);
  for (const naming of namings) {
    if (naming.kind === "add") after.set(naming.path, naming.file);
    else {
      const file = after.get(naming.path);
      if (file === undefined) continue;
      after.delete(naming.path);
      if (naming.kind === "move") after.set(naming.to, file);
    }
  }
  return after;
}

function applied(bytes: Buffer, changes: readonly Change[], rubbish?: SeededRandom): Buffer {
  let after = bytes;
  for (const change of changes) {
    if (change.kind === "size") after = resized(after, change.sizeBytes, rubbish);
    else {
      const end = change.at + change.bytes.length;
      after = end > after.length ? resized(after, end, rubbish) : Buffer.from(after);
      change.bytes.copy(after, change.at);
    }
  }
  return after;
}

function resized(bytes: Buffer, sizeBytes: number, rubbish: SeededRandom | undefined): Buffer {
  const grown = Buffer.alloc(Math.max(0, sizeBytes - bytes.length));
  if (rubbish !== undefined) grown.set(rubbish.bytes(grown.length));
  return Buffer.concat([bytes.subarray(0, sizeBytes), grown]);
}

/** The sectors of each write are pieces of their own. */
function pieces(pending: readonly Change[]): Change[] {
  return pending.flatMap((change) => {
    if (change.kind === "size") return [change];
    const parts: Change[] = [];
    for (let from = 0; from < change.bytes.length; ) {
      const at = change.at + from;
      const to = Math.min(change.bytes.length, from + sectorBytes - (at % sectorBytes));
      parts.push({ kind: "bytes", at, bytes: change.bytes.subarray(from, to) });
      from = to;
    }
    return parts;
  });
}

function drawBytes({ durable, pending }: File, random: SeededRandom): Buffer {
  const all = pieces(pending);
  if (all.length === 0) return durable;
  const share = random.fraction();
  const kept = random.chance(0.5)
    ? all.slice(0, random.int(all.length + 1))
    : all.filter(() => random.chance(share));
  const last = kept.at(-1);
  if (last?.kind === "bytes" && random.chance(0.5)) {
    kept[kept.length - 1] = { ...last, bytes: last.bytes.subarray(0, random.int(last.bytes.length + 1)) };
  }
  const after = applied(durable, kept, random.chance(0.3) ? random : undefined);
  // Its new size is on the disk, its bytes are not.
  const whole = applied(durable, pending).length;
  return random.chance(0.3) && whole > after.length
    ? resized(after, whole, random.chance(0.5) ? random : undefined)
    : after;
}
