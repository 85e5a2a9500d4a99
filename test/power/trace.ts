/**
 * What a program asks of the disk, in its order: every write, sync, rename and removal in one folder, as the system's
 * own tracer sees them. So the code under test is the code that ships, with the driver that ships, and nothing stands
 * between it and the disk that the test has made.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type DiskEvent =
  /** Opened to be written; made if it is not there. */
  | { readonly kind: "open"; readonly path: string; readonly truncate: boolean }
  | { readonly kind: "write"; readonly path: string; readonly at: number | undefined; readonly bytes: Buffer }
  | { readonly kind: "resize"; readonly path: string; readonly sizeBytes: number }
  /** Of a file or a folder; all before it is on the disk when it returns. */
  | { readonly kind: "sync"; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "folder"; readonly path: string }
  /** The program has told somebody this line. */
  | { readonly kind: "told"; readonly line: string };

/** What a traced program writes before each line that it tells: its loader has children that write, too. */
export const tellMark = "told ";

const calls = [
  ...["openat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate", "fsync"],
  ...["fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"],
];

/** Why nothing can be traced here; undefined: it can. */
export function whyNoTrace(): string | undefined {
  const { error, status, stderr } = spawnSync("strace", ["-o", "/dev/null", "true"], { encoding: "utf8" });
  if (error !== undefined) return "strace is not installed";
  return status === 0 ? undefined : `strace cannot trace here: ${stderr.trim()}`;
}

/** Runs a program of this folder and gives what it asked of the disk below `folder`. */
export function traceOf(program: string, folder: string, ...args: readonly string[]): readonly DiskEvent[] {
  const scratch = mkdtempSync(join(tmpdir(), "holdfast-trace-"));
  const file = join(scratch, "trace");
  try {
    const node = [process.execPath, "--conditions=holdfast-source", "--import", "tsx"];
    const { status, stderr } = spawnSync(
      "strace",
      // All strings in hex and whole; descriptors with their paths.
      [
        ...["-f", "-y", "-xx", "-s", "100000000", "-o", file, "-e", `trace=${calls.join(",")}`],
        ...[...node, join(import.meta.dirname, program), folder, ...args],
      ],
      { encoding: "utf8", timeout: 120_000 },
    );
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2_000)}`);
    return eventsOf(readFileSync(file, "latin1"), folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** @throws Error for a call in the folder that is not understood: what is not modelled must not pass for harmless. */
export function eventsOf(trace: string, folder: string): readonly DiskEvent[] {
  const begun = new Map<string, string>();
  const events: DiskEvent[] = [];
  for (const line of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    // Two threads: the begin and the end of a call stand apart. It counts as of its end, and a write that the disk
    // has seen before that is one of those that may or may not be there.
    if (rest.endsWith("<unfinished ...>")) begun.set(thread, rest.slice(0, -"<unfinished ...>".length));
    else {
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
      const event = eventOf(
        resumed === null ? rest : `${begun.get(thread) ?? ""}${resumed[1] ?? ""}`,
        folder,
      );
      if (event !== undefined) events.push(event);
    }
  }
  return events;
}

/** A call with its arguments; strings and paths of descriptors are in hex. */
const callShape = /^(\w+)\((.*)\) += (-?\d+)/;

function eventOf(text: string, folder: string): DiskEvent | undefined {
  const [, name = "", inside = "", result = "-1"] = callShape.exec(text) ?? [];
  if (Number(result) < 0) return undefined;
  const strings = [...inside.matchAll(/"((?:\\x..)*)"/g)].map(([, hex = ""]) => bytesOf(hex));
  const [, held] = /^\d+<((?:\\x..)*)>/.exec(inside) ?? [];
  const path = held === undefined ? strings[0]?.toString() : bytesOf(held).toString();
  const numbers = inside.split(", ").map(Number);
  if (name === "write" && inside.startsWith("1<")) {
    const line = (strings[0] ?? Buffer.alloc(0)).toString().trimEnd();
    return line.startsWith(tellMark) ? { kind: "told", line: line.slice(tellMark.length) } : undefined;
  }
  if (path === undefined || !(path === folder || path.startsWith(`${folder}/`))) return undefined;
  switch (name) {
    case "openat":
      if (!/O_CREAT|O_TRUNC/.test(inside)) return undefined;
      return { kind: "open", path, truncate: /O_TRUNC/.test(inside) };
    case "write":
      return { kind: "write", path, at: undefined, bytes: written(strings[0], result) };
    case "pwrite64":
      return { kind: "write", path, at: numbers.at(-1) ?? 0, bytes: written(strings[0], result) };
    case "ftruncate":
      return { kind: "resize", path, sizeBytes: numbers[1] ?? 0 };
    case "fsync":
    case "fdatasync":
      return { kind: "sync", path };
    case "rename":
      return { kind: "rename", from: path, to: (strings[1] ?? Buffer.alloc(0)).toString() };
    case "unlink":
    case "rmdir":
      return { kind: "remove", path };
    case "mkdir":
      return { kind: "folder", path };
    default:
      throw new Error(`${name} in ${folder} is not understood: ${text.slice(0, 200)}`);
  }
}

function written(bytes: Buffer = Buffer.alloc(0), result: string): Buffer {
  return bytes.subarray(0, Number(result));
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}
