/** The examples of held objects, each as a process of its own: what they print, and that they end by themselves. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** A process starts in a second or two, on a machine that has better to do in some more. */
const timeout = 60_000;

/** What an example prints. Rejects when it ends with another code than 0. */
async function printed(file: string): Promise<string[]> {
  const args = ["--conditions=holdfast-source", "--import", "tsx", `examples/${file}`];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout });
  expect(stderr).toBe("");
  return stdout.trimEnd().split("\n");
}

it("10-drops shows the state of a reference through a drop, and what waited is sent in order", {
  timeout,
}, async () => {
  const lines = await printed("10-drops/main.ts");
  const states = lines.filter((line) => line.startsWith("state: "));
  expect(states).toEqual(["loading", "live", "loading", "live", "released"].map((kind) => `state: ${kind}`));
  expect(
    lines.slice(lines.indexOf("the network is gone")).filter((line) => !line.startsWith("entries:")),
  ).toEqual([
    "the network is gone",
    "state: loading",
    "last seen: 1 milk",
    "two calls wait",
    "the network is back",
    "state: live",
    "done: entry 2",
    "done: entry 3",
    "state: released",
    expect.stringMatching(/^after the release: .*the reference is released/),
  ]);
  expect(lines).toContain("entries: 1 milk, 2 bread, 3 apples");
});

it("11-linger-and-retry shows an object reused in its linger and fresh after it, and failures that pass and stay", {
  timeout,
}, async () => {
  expect(await printed("11-linger-and-retry/main.ts")).toEqual([
    "1. Released, and held again within its linger of 5 minutes",
    "  S1 starts",
    "after 4 minutes: 1 milk",
    "2. The linger passes: what was in memory is gone",
    "  S1 ends",
    "  S1 starts",
    "held again: (empty)",
    "3. What may pass is tried again by itself, later each time",
    "state: loading",
    "state: failed: the disk is busy, tries again",
    "state: loading",
    "state: failed: the disk is busy, tries again",
    "state: loading",
    "  S2 starts",
    "state: live",
    "state: released",
    "4. What cannot pass waits until somebody asks",
    "state: loading",
    "state: failed: there is no S3, no retry",
    expect.stringMatching(/^a call: .*there is no S3/),
    "state: loading",
    "  S3 starts",
    "state: live",
    "a call: entry 1",
    "state: released",
    "the host closes: what lingers ends at once",
    "  S1 ends",
    "  S2 ends",
    "  S3 ends",
  ]);
});

it("tokens sends what is appended to a text, and not the text", { timeout }, async () => {
  const lines = await printed("tokens/main.ts");
  const perToken = /^228 tokens: (\S+) bytes a token on the wire$/m.exec(lines.join("\n"))?.[1];
  // A frame and its WebSocket header; the text itself is near 1,000 bytes at the end.
  expect(Number(perToken)).toBeLessThan(60);
  expect(lines.at(-1)).toBe("the reader has it all: yes");
});

it("the notebook's demo ends with the reader seeing what was written while the network was away", {
  timeout,
}, async () => {
  const lines = (await printed("notebook/demo.ts")).map((line) => line.replace(/^ *\S+ s +/, ""));
  expect(lines).toEqual(
    expect.arrayContaining([
      "ada      holds the notebook as editor",
      "bob      holds the notebook as reader",
      "bob      sees 1 milk, 2 bread",
      "bob      still sees 1 milk, 2 bread",
      "ada      both calls are done, each ran once",
      "bob      sees 1 oat milk, 2 bread, 3 apples",
    ]),
  );
  expect(lines.at(-1)).toBe("notebook: ok, bob sees what ada wrote");
});
