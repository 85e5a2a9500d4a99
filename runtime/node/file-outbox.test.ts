import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemRandom } from "../base/random.ts";
import { dataFolder } from "./data-folder.ts";
import { bodyOf, fileOf } from "./entry-file.ts";
import { fileOutbox, outboxFolder } from "./file-outbox.ts";

async function place(): Promise<{
  readonly options: Parameters<typeof fileOutbox>[0];
  readonly path: string;
}> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-outbox-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const options = { folder, server: "http://board.test", account: "ann", random: systemRandom };
  return { options, path: outboxFolder(options) };
}

const body = new TextEncoder().encode("one command");

describe("a file of an outbox", () => {
  const whole = Buffer.from(fileOf(body));

  it("gives back its body", () => {
    expect(bodyOf(whole)).toEqual({ kind: "whole", bytes: body });
  });

  it("is damaged when it is cut off at any byte, or filled with zeros", () => {
    for (let length = 0; length < whole.length; length += 1) {
      expect(bodyOf(whole.subarray(0, length)).kind, `cut at ${length}`).toBe("damaged");
      expect(bodyOf(Buffer.alloc(length)).kind, `${length} zeros`).toBe("damaged");
    }
  });

  it("is damaged when any bit is another one", () => {
    for (let at = 0; at < whole.length * 8; at += 1) {
      const flipped = Buffer.from(whole);
      flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7));
      expect(bodyOf(flipped).kind, `bit ${at}`).toBe("damaged");
    }
  });

  it("of another version is not guessed at", () => {
    const newer = Buffer.from(whole);
    newer[4] = 2;
    expect(bodyOf(newer)).toEqual({ kind: "damaged", why: "its form has version 2, this program reads 1" });
  });
});

describe("an outbox in files", () => {
  it("makes nothing before the first entry, and then folders and files for its user alone", async () => {
    const { options, path } = await place();
    const store = fileOutbox(options);
    await store.list();
    await expect(stat(path)).rejects.toThrow("ENOENT");
    await store.put("a", body);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    const [file] = await readdir(path);
    expect((await stat(join(path, file!))).mode & 0o777).toBe(0o600);
  });

  it("keeps accounts and servers apart", async () => {
    const { options } = await place();
    const paths = [
      outboxFolder(options),
      outboxFolder({ ...options, account: "bob" }),
      outboxFolder({ ...options, server: "http://other.test" }),
    ];
    expect(new Set(paths).size).toBe(3);
  });

  it("tells a damaged file from a missing one, and sets it aside as it is", async () => {
    const { options, path } = await place();
    const store = fileOutbox(options);
    await store.put("a", body);
    await truncate(join(path, "a.entry"), 20);
    const before = await readFile(join(path, "a.entry"));
    expect((await store.read("a")).kind).toBe("damaged");
    const where = await store.aside("a");
    expect(await readFile(where)).toEqual(before);
    expect(await store.list()).toEqual([]);
  });

  it("overwrites nothing that was set aside before", async () => {
    const { options } = await place();
    const store = fileOutbox(options);
    await store.put("a", body);
    const first = await store.aside("a");
    await store.put("a", body);
    expect(await store.aside("a")).not.toBe(first);
  });

  it("does not follow a symbolic link, neither as an entry nor as its folder", async () => {
    const { options, path } = await place();
    const store = fileOutbox(options);
    await store.put("a", body);
    await writeFile(join(options.folder, "elsewhere"), fileOf(body));
    await symlink(join(options.folder, "elsewhere"), join(path, "b.entry"));
    expect(await store.read("b")).toEqual({ kind: "damaged", why: "it is a symbolic link" });

    const other = { ...options, account: "bob" };
    await mkdir(join(options.folder, "theirs"));
    await symlink(join(options.folder, "theirs"), outboxFolder(other));
    await expect(fileOutbox(other).list()).rejects.toThrow(/is a symbolic link/);
    await expect(fileOutbox(other).put("a", body)).rejects.toThrow(/is a symbolic link/);
  });

  it("refuses a folder that others may write", async () => {
    const { options, path } = await place();
    await fileOutbox(options).put("a", body);
    await chmod(path, 0o777);
    await expect(fileOutbox(options).put("b", body)).rejects.toThrow(/may be written by other users/);
  });

  it("keeps what was there when a put fails, and leaves no half file", async () => {
    const { options, path } = await place();
    const store = fileOutbox(options);
    await store.put("a", body);
    await mkdir(join(path, "b.entry"));
    await expect(store.put("b", body)).rejects.toThrow();
    expect((await readdir(path)).filter((name) => name.endsWith(".part"))).toEqual([]);
    expect((await store.read("a")).kind).toBe("whole");
    expect((await store.read("b")).kind).toBe("damaged");
  });

  it("does not list what a process left half-written", async () => {
    const { options, path } = await place();
    const store = fileOutbox(options);
    await store.put("a", body);
    await writeFile(join(path, "0123.part"), "half");
    expect((await store.list()).map(({ name }) => name)).toEqual(["a"]);
  });
});

describe("the data folder", () => {
  const home = "/h";
  it.each([
    ["linux", {}, "/h/.local/state/holdfast"],
    ["linux", { XDG_STATE_HOME: "/s" }, "/s/holdfast"],
    ["linux", { XDG_STATE_HOME: "relative" }, "/h/.local/state/holdfast"],
    ["darwin", {}, "/h/Library/Application Support/holdfast"],
  ] as const)("of %s with %o is %s", (platform, env, path) => {
    expect(dataFolder({ platform, env, home })).toBe(path);
  });
});
