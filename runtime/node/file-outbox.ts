/**
 * An outbox in files: a folder for each server and account, one file for each entry. A file is written whole
 * under another name, brought to the disk, and then renamed, and the folder is brought to the disk as well: it is
 * there whole or not at all, also after a power cut. `write-file-atomic` would do the first half; it neither
 * refuses a symbolic link in its way nor brings the folder to the disk.
 *
 * Several processes share the folder; the lock is `proper-lockfile`'s, which works on every file system by making
 * a folder, and tells a dead holder by the age of its last sign.
 *
 * Source: design "The outbox"; reliability decisions D30, D31, D37.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm, lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Random } from "../base/random.ts";
import type { OutboxLease, OutboxStore, StoredBytes, StoredName } from "../outbox/outbox-store.ts";
import { checkPrivateFolder, makePrivateFolder } from "./data-folder.ts";
import { bodyOf, fileOf, headBytes } from "./entry-file.ts";

export interface FileOutboxOptions {
  /** The folder of all outboxes. */
  readonly folder: string;
  readonly server: string;
  readonly account: string;
  readonly random: Random;
}

/** A holder gives a sign this often, and is taken for dead without one for so long. The next one looks each second or
 * two, and has sent its first entry within the promised 10 s. */
const lockSignMs = 2_000;
const lockStaleMs = 7_000;

const ending = ".entry";
/** Written by a process that died before it could rename it: it never was an entry. */
const halfEnding = ".part";

/** The store. Nothing is touched before its first use, and nothing is made before the first entry. */
export function fileOutbox(options: FileOutboxOptions): OutboxStore {
  return new FileOutbox(options);
}

/** The name of an outbox's folder: not to be read by who sees the folder's name in a backup. */
export function outboxFolder({ folder, server, account }: Omit<FileOutboxOptions, "random">): string {
  const digest = createHash("sha256").update(`${server}\n${account}`).digest("hex");
  return join(folder, "outbox", digest.slice(0, 32));
}

class FileOutbox implements OutboxStore {
  readonly #path: string;
  readonly #random: Random;
  #made: Promise<void> | undefined;

  constructor(options: FileOutboxOptions) {
    this.#path = outboxFolder(options);
    this.#random = options.random;
  }

  async list(): Promise<readonly StoredName[]> {
    const names = await this.#names();
    const found: StoredName[] = [];
    for (const name of names) {
      if (!name.endsWith(ending)) continue;
      const stats = await lstat(join(this.#path, name)).catch(noneIfMissing);
      if (stats === undefined) continue;
      found.push({ name: name.slice(0, -ending.length), sizeBytes: Math.max(0, stats.size - headBytes) });
    }
    return found;
  }

  async read(name: string): Promise<StoredBytes> {
    const path = this.#file(name);
    const file = await open(path, constants.O_RDONLY | noFollow).catch((error: unknown) => {
      if (isSystemError(error, "ELOOP")) return "link" as const;
      if (isSystemError(error, "ENOENT")) return undefined;
      throw error;
    });
    if (file === undefined) return { kind: "gone" };
    if (file === "link") return { kind: "damaged", why: "it is a symbolic link" };
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return { kind: "damaged", why: "it is no file" };
      if (stats.uid !== (process.getuid?.() ?? stats.uid)) {
        return { kind: "damaged", why: "it belongs to another user" };
      }
      return bodyOf(await file.readFile());
    } finally {
      await file.close();
    }
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#make();
    const half = join(this.#path, `${Buffer.from(this.#random.bytes(12)).toString("hex")}${halfEnding}`);
    try {
      const file = await open(
        half,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow,
        0o600,
      );
      try {
        await file.writeFile(fileOf(bytes));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(half, this.#file(name));
    } catch (error) {
      await rm(half, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.#sync();
  }

  async drop(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
    await this.#sync();
  }

  async aside(name: string): Promise<string> {
    const folder = join(this.#path, "aside");
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // A name of its own, so that nothing that was set aside before is overwritten.
    const suffix = Buffer.from(this.#random.bytes(4)).toString("hex");
    const to = join(folder, `${name}-${suffix}${ending}`);
    await rename(this.#file(name), to);
    await this.#sync();
    return to;
  }

  async lock(): Promise<OutboxLease | undefined> {
    await this.#make();
    // Loaded here, so that a program in which nothing ever waits does not pay for it.
    const { default: lockfile } = await import("proper-lockfile");
    const lost = new AbortController();
    try {
      const release = await lockfile.lock(this.#path, {
        lockfilePath: join(this.#path, "lock"),
        realpath: false,
        stale: lockStaleMs,
        update: lockSignMs,
        onCompromised: (error) => lost.abort(error),
      });
      await this.#sweep();
      return { lost: lost.signal, release: () => release().catch(() => undefined) };
    } catch (error) {
      if (isSystemError(error, "ELOCKED")) return undefined;
      throw error;
    }
  }

  async #names(): Promise<readonly string[]> {
    try {
      await checkPrivateFolder(this.#path);
      return await readdir(this.#path);
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return [];
      throw error;
    }
  }

  #file(name: string): string {
    return join(this.#path, `${name}${ending}`);
  }

  async #make(): Promise<void> {
    this.#made ??= makePrivateFolder(this.#path);
    try {
      await this.#made;
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
  }

  /** A rename or a removal is on the disk when its folder is. */
  async #sync(): Promise<void> {
    // Windows cannot open a folder, and writes such changes through by itself.
    if (process.platform === "win32") return;
    const folder = await open(this.#path, constants.O_RDONLY).catch(noneIfMissing);
    try {
      await folder?.sync();
    } finally {
      await folder?.close();
    }
  }

  /** Half-written files of processes that died. A process that writes one now is younger than the limit. */
  async #sweep(): Promise<void> {
    for (const name of await this.#names()) {
      if (!name.endsWith(halfEnding)) continue;
      const path = join(this.#path, name);
      const stats = await lstat(path).catch(noneIfMissing);
      const lock = await lstat(join(this.#path, "lock")).catch(noneIfMissing);
      // Two times of one file system: this machine's clock has no say.
      if (stats !== undefined && lock !== undefined && lock.mtimeMs - stats.mtimeMs > halfKeepMs) {
        await rm(path, { force: true });
      }
    }
  }
}

const halfKeepMs = 3_600_000;

/** Absent on Windows, where a folder of the user's own has no such links by others. */
const noFollow = (constants as { readonly O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0;

function isSystemError(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function noneIfMissing(error: unknown): undefined {
  if (isSystemError(error, "ENOENT")) return undefined;
  throw error;
}
