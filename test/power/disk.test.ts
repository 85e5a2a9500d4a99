import { describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { Disk, type Image } from "./disk.ts";
import { type DiskEvent, eventsOf } from "./trace.ts";

const bytes = (text: string): Buffer => Buffer.from(text);
const open = (path: string): DiskEvent => ({ kind: "open", path, truncate: false });
const write = (path: string, text: string, at = 0): DiskEvent => ({
  kind: "write",
  path,
  at,
  bytes: bytes(text),
});
const sync = (path: string): DiskEvent => ({ kind: "sync", path });

function diskAfter(...events: readonly DiskEvent[]): Disk {
  const disk = new Disk();
  for (const event of events) disk.apply(event);
  return disk;
}

function texts(image: Image): Record<string, string> {
  return Object.fromEntries([...image].map(([path, content]) => [path, content.toString()]));
}

describe("what is on a disk after a power loss", () => {
  it("is nothing of a file whose folder was not synced", () => {
    const disk = diskAfter(open("/d/a"), write("/d/a", "one"), sync("/d/a"));
    expect(texts(disk.least)).toEqual({});
    expect(texts(disk.most)).toEqual({ "/d/a": "one" });
  });

  it("is what was synced, at the least", () => {
    const disk = diskAfter(
      open("/d/a"),
      write("/d/a", "one"),
      sync("/d/a"),
      sync("/d"),
      write("/d/a", "two"),
    );
    expect(texts(disk.least)).toEqual({ "/d/a": "one" });
    expect(texts(disk.most)).toEqual({ "/d/a": "two" });
  });

  it("is under the old name or the new one until the folder is synced", () => {
    const disk = diskAfter(open("/d/a"), write("/d/a", "one"), sync("/d/a"), sync("/d"));
    disk.apply({ kind: "rename", from: "/d/a", to: "/d/b" });
    const seen = new Set(
      Array.from({ length: 50 }, (_, seed) => JSON.stringify(texts(disk.draw(seededRandom(seed))))),
    );
    expect([...seen].sort()).toEqual(['{"/d/a":"one"}', '{"/d/b":"one"}']);
    disk.apply(sync("/d"));
    expect(texts(disk.least)).toEqual({ "/d/b": "one" });
  });

  it("is nothing in a folder whose own name was not synced", () => {
    const disk = diskAfter({ kind: "folder", path: "/d/e" }, open("/d/e/a"), sync("/d/e"));
    expect(texts(disk.least)).toEqual({});
    disk.apply(sync("/d"));
    expect(texts(disk.least)).toEqual({ "/d/e/a": "" });
  });

  it("may be any of the sectors of a write, and half of one", () => {
    const disk = diskAfter(open("/d/a"), sync("/d"), write("/d/a", "x".repeat(1_500)));
    const counts = new Set<number>();
    for (let seed = 0; seed < 300; seed++) {
      const content = disk.draw(seededRandom(seed)).get("/d/a");
      counts.add([...(content ?? [])].filter((byte) => byte === "x".charCodeAt(0)).length);
    }
    for (const whole of [0, 512, 988, 1_024, 1_500]) expect(counts).toContain(whole);
    expect([...counts].some((count) => count > 0 && count < 476)).toBe(true);
  });
});

describe("the trace of a program", () => {
  const hex = (text: string): string =>
    [...bytes(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");

  it("gives what was asked of the disk in one folder, and what was told", () => {
    const lines = [
      `7 openat(AT_FDCWD<${hex("/")}>, "${hex("/d/a")}", O_RDWR|O_CREAT, 0644) = 18<${hex("/d/a")}>`,
      `7 pwrite64(18<${hex("/d/a")}>, "${hex('a", 1')}", 6, 512) = 6`,
      `7 pwrite64(19<${hex("/other")}>, "${hex("no")}", 2, 0) = 2`,
      `8 fsync(18<${hex("/d/a")}> <unfinished ...>`,
      `7 write(1<${hex("pipe")}>, "${hex("told it\n")}", 8) = 8`,
      "8 <... fsync resumed>) = 0",
      `7 rename("${hex("/d/a")}", "${hex("/d/b")}") = -1 ENOENT (No such file)`,
    ];
    expect(eventsOf(lines.join("\n"), "/d")).toEqual([
      open("/d/a"),
      write("/d/a", 'a", 1', 512),
      { kind: "told", line: "it" },
      sync("/d/a"),
    ]);
  });

  it("stops at what it does not know", () => {
    expect(() => eventsOf(`7 fallocate(18<${hex("/d/a")}>, 0, 0, 9) = 0`, "/d")).toThrow("not understood");
  });
});
