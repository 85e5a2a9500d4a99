/** The notebook's command line, as real processes, while its server is stopped and started under them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it, vi } from "vitest";
import { notebookServer } from "../../examples/notebook/notebook-server.ts";
import type { Server } from "../../server/index.ts";

const cli = fileURLToPath(new URL("../../examples/notebook/cli.ts", import.meta.url));
/** A process starts in a second or two, on a machine that has better to do in some more. */
const patience = { timeout: 60_000, interval: 20 };

let server: Server | undefined;
let port = 0;
const children: ChildProcess[] = [];

async function start(): Promise<void> {
  server = notebookServer({ editors: ["ada"] });
  ({ port } = await server.listen({ host: "127.0.0.1", port }));
}

async function stop(): Promise<void> {
  await server?.close({ within: 0 });
  server = undefined;
}

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await stop();
  port = 0;
});

function notebook(by: string, ...command: readonly string[]) {
  const options = ["--url", `http://127.0.0.1:${port}`, "--as", by];
  const args = ["--conditions=holdfast-source", "--import", "tsx", cli, ...options, ...command];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const text = { out: "", err: "" };
  child.stdout.on("data", (bytes: Buffer) => (text.out += bytes.toString()));
  child.stderr.on("data", (bytes: Buffer) => (text.err += bytes.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...text }));
  return { child, text, ended };
}

it("shows and changes a notebook, and says why it may not", { timeout: 120_000 }, async () => {
  await start();
  expect(await notebook("ada", "add", "S1", "oat", "milk").ended).toMatchObject({
    code: 0,
    out: "entry 1\n",
  });
  const [edit, missing, reader] = [
    notebook("ada", "edit", "S1", "1", "milk"),
    notebook("ada", "remove", "S1", "7"),
    notebook("bob", "add", "S1", "bread"),
  ];
  expect(await edit.ended).toMatchObject({ code: 0 });
  expect(await missing.ended).toMatchObject({ code: 1, err: "notebook: there is no entry 7\n" });
  const refused = await reader.ended;
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('held as "reader"');
  expect(await notebook("bob", "show", "S1").ended).toMatchObject({ code: 0, out: "  1  milk\n" });
});

it("watches a notebook through a restart of its server, until it is stopped", {
  timeout: 120_000,
}, async () => {
  await start();
  const watch = notebook("bob", "watch", "S1");
  await vi.waitFor(() => expect(watch.text.out).toContain("S1, as reader:\n"), patience);
  await stop();
  await vi.waitFor(() => expect(watch.text.err).toContain("no reply from"), patience);
  await start();
  expect(await notebook("ada", "add", "S1", "milk").ended).toMatchObject({ code: 0 });
  await vi.waitFor(() => expect(watch.text.out).toContain("  1  milk\n"), patience);
  watch.child.kill("SIGTERM");
  expect((await watch.ended).code).toBe(0);
});
