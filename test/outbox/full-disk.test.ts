/** A client whose disk takes no more bytes: a process for which the system refuses to write any file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("client-process.ts", import.meta.url));

it.skipIf(process.platform === "win32").each([
  ["early", "ends before it is sent", "OUTBOX_FULL"],
  ["late", "ends as it would without an outbox, and says of none", "NO_SERVER"],
])(
  "on a full disk a command with outbox: %s %s, and nothing half-written stays",
  async (kind, _, reason) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-outbox-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const node = `exec "$0" --conditions=holdfast-source --import tsx "$@"`;
    // Nobody listens on port 9, and a process that has not reached its server yet need not wait to learn that.
    const args = [program, "http://127.0.0.1:9", folder, kind, "1"];
    const child = spawn("sh", ["-c", `ulimit -f 0; ${node}`, process.execPath, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    expect(said).toMatch(new RegExp(`^failed ${reason} \\S+\n$`));
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual([]);
  },
  60_000,
);
