/** The outbox over real processes that are killed, and real files that are damaged. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { outboxFolder } from "../../runtime/node/file-outbox.ts";
import { linkOf } from "../../runtime/node/index.ts";
import { createServer as serve, memoryStore } from "../../server/index.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { tallyHandlers } from "../support/tally-server.ts";

/** Processes take their time to start on a busy machine, and the lock of one that was killed takes 10 s. */
const processesMs = 90_000;

const program = fileURLToPath(new URL("client-process.ts", import.meta.url));

interface Client {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  /** The first line that starts so; fails when the process ends without it. */
  line(start: string): Promise<string>;
  readonly end: Promise<number | null>;
}

function client(url: string, folder: string, ...args: readonly string[]): Client {
  const child = spawn(
    process.execPath,
    ["--conditions=holdfast-source", "--import", "tsx", program, url, folder, ...args],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const lines: string[] = [];
  let look: () => void = () => undefined;
  let over = false;
  createInterface(child.stdout)
    .on("line", (line) => {
      lines.push(line);
      look();
    })
    .on("close", () => {
      over = true;
      look();
    });
  const end = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await end;
  });
  return {
    child,
    lines,
    end,
    line: (start) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = lines.find((line) => line.startsWith(start));
          if (found !== undefined) resolve(found);
          else if (over) reject(new Error(`the process said no "${start}", but: ${lines.join(" | ")}`));
        };
        look();
      }),
  };
}

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-outbox-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Takes connections and answers nothing: a server that is gone without a word. */
async function silentServer(port = 0): Promise<Server> {
  const server = createServer((socket) => void socket.on("error", () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return server;
}

/** Takes connections and cuts each at its first byte; `tried` resolves at the given one. */
async function cuttingServer(
  count: number,
): Promise<{ readonly cutting: Server; readonly tried: Promise<void> }> {
  let seenCount = 0;
  let reached: () => void = () => undefined;
  const tried = new Promise<void>((resolve) => (reached = resolve));
  const cutting = createServer((socket) => {
    socket
      .on("error", () => undefined)
      .once("data", () => {
        seenCount += 1;
        socket.destroy();
        if (seenCount === count) reached();
      });
  });
  await new Promise<void>((resolve) => cutting.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void cutting.close());
  return { cutting, tried };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Noting {
  /** The call IDs of what ran, in order. */
  readonly ids: string[];
  readonly url: string;
}

/** A server that notes what it runs. Its store is an hour old: what was sent to a dead one is not refused. */
async function notingServer(port: number): Promise<Noting> {
  const ids: string[] = [];
  const count = { total: 0n, runs: 0 };
  const add: TallyHandlers["add"] = (_, context) => {
    ids.push(context.callId ?? "");
    return { total: BigInt(ids.length) };
  };
  const clock = { ...systemClock, now: () => systemClock.now() - 3_600_000 };
  const store = memoryStore({ clock, random: systemRandom });
  const server = serve({ store }).implement(Tally, tallyHandlers(count, { add }));
  await server.listen({ host: "127.0.0.1", port });
  onTestFinished(() => server.close({ within: 0 }));
  return { ids, url: `http://127.0.0.1:${port}` };
}

describe("a client that is killed", () => {
  it.each([
    ["at once", false],
    ["with a try under way", true],
  ])(
    "%s has lost nothing once its EARLY command is stored: it is sent once, as the same call",
    async (_, sent) => {
      const folder = await freshFolder();
      const silent = await silentServer();
      const port = portOf(silent);
      const tried = new Promise((resolve) => silent.once("connection", resolve));
      const first = client(`http://127.0.0.1:${port}`, folder, "early", "7");
      const stored = await first.line("stored ");
      if (sent) await tried;
      first.child.kill("SIGKILL");
      await first.end;
      await new Promise((resolve) => silent.close(resolve));
      const server = await notingServer(port);
      const second = client(server.url, folder, "send");
      expect(await second.line("settled ")).toBe(`${stored.replace("stored", "settled")} reply`);
      expect(await second.line("waiting ")).toBe("waiting 0");
      expect(server.ids).toEqual([stored.replace("stored ", "")]);
    },
    processesMs,
  );

  it(
    "after many tries of its EARLY command has it sent once, as the same call",
    async () => {
      const folder = await freshFolder();
      const { cutting, tried } = await cuttingServer(4);
      const port = portOf(cutting);
      const first = client(`http://127.0.0.1:${port}`, folder, "early", "7");
      const stored = await first.line("stored ");
      await tried;
      first.child.kill("SIGKILL");
      await first.end;
      await new Promise((resolve) => cutting.close(resolve));
      const server = await notingServer(port);
      const second = client(server.url, folder, "send");
      expect(await second.line("waiting ")).toBe("waiting 0");
      expect(server.ids).toEqual([stored.replace("stored ", "")]);
    },
    processesMs,
  );

  it(
    "inside the budget of its LATE command has nothing stored, and claims nothing",
    async () => {
      const folder = await freshFolder();
      const { cutting, tried } = await cuttingServer(4);
      const url = `http://127.0.0.1:${portOf(cutting)}`;
      const first = client(url, folder, "late", "7");
      await tried;
      first.child.kill("SIGKILL");
      await first.end;
      await expect(first.line("stored ")).rejects.toThrow("said no");
      const files = await readdir(outboxFolder({ folder, server: url, account: "" })).catch(() => []);
      expect(files.filter((name) => name.endsWith(".entry"))).toEqual([]);
    },
    processesMs,
  );

  it(
    "while it writes its outbox has lost nothing that it said was stored, and left nothing damaged",
    async () => {
      const folder = await freshFolder();
      const silent = await silentServer();
      const port = portOf(silent);
      const first = client(`http://127.0.0.1:${port}`, folder, "burst", "200");
      await first.line("stored ");
      first.child.kill("SIGKILL"); // the others are being written now
      await first.end;
      await new Promise((resolve) => silent.close(resolve));
      const server = await notingServer(port);
      const link = linkOf(server.url, { outbox: { folder, atStart: false } });
      try {
        const waiting = (await link.outbox.list()).map(({ callId }) => callId);
        expect(waiting.length).toBeLessThan(200);
        expect(link.outbox.setAside.value).toEqual([]);
        expect(await link.outbox.send()).toEqual({ waitingCount: 0, cause: undefined });
        expect(server.ids).toEqual(waiting);
        const said = first.lines.filter((line) => line.startsWith("stored ")).map((line) => line.slice(7));
        expect(said.length).toBeGreaterThan(0);
        expect(said.filter((id) => !server.ids.includes(id))).toEqual([]);
      } finally {
        await link.close();
      }
    },
    processesMs,
  );

  it(
    "while it holds the lock delays the next one by 10 s at most",
    async () => {
      const folder = await freshFolder();
      const silent = await silentServer();
      const port = portOf(silent);
      const tried = new Promise((resolve) => silent.once("connection", resolve));
      const first = client(`http://127.0.0.1:${port}`, folder, "early");
      await tried;
      expect(
        await readdir(outboxFolder({ folder, server: `http://127.0.0.1:${port}`, account: "" })),
      ).toContain("lock");
      await new Promise((resolve) => {
        first.child.kill("SIGKILL");
        void first.end.then(() => silent.close(resolve));
      });
      const killedAt = performance.now();
      const server = await notingServer(port);
      const link = linkOf(server.url, { outbox: { folder } });
      try {
        await link.outbox.send();
        expect(server.ids).toHaveLength(1);
        expect(performance.now() - killedAt).toBeLessThan(10_000);
      } finally {
        await link.close();
      }
    },
    processesMs,
  );
});

describe("two processes that share an outbox", () => {
  it(
    "both get their replies, and nothing runs twice",
    async () => {
      const folder = await freshFolder();
      const silent = await silentServer();
      const port = portOf(silent);
      await new Promise((resolve) => silent.close(resolve));
      const server = await notingServer(port);
      const clients = [1, 2, 3].map((amount) => client(server.url, folder, "early", `${amount}`));
      await Promise.all(clients.map((each) => each.line("reply ")));
      expect(new Set(server.ids).size).toBe(3);
      expect(server.ids).toHaveLength(3);
      await Promise.all(clients.map((each) => each.end));
    },
    processesMs,
  );
});

describe("an outbox whose files are damaged", () => {
  it("sends the whole ones in order, and sets the others aside as they are", async () => {
    const folder = await freshFolder();
    const silent = await silentServer();
    const port = portOf(silent);
    await new Promise((resolve) => silent.close(resolve));
    const url = `http://127.0.0.1:${port}`;
    const before = linkOf(url, { outbox: { folder, atStart: false } });
    const made: string[] = [];
    for (let amount = 0n; amount < 20n; amount += 1n) {
      const error: unknown = await before
        .call({ ...Tally.add, outbox: "late" }, { amount }, { timeoutMs: 200 })
        .catch((reason: unknown) => reason);
      if (error instanceof HoldfastError) made.push(error.callId ?? "");
    }
    await before.close();
    const path = outboxFolder({ folder, server: url, account: "" });
    const files = (await readdir(path)).filter((name) => name.endsWith(".entry")).sort();
    expect(files).toHaveLength(20);
    const bytes = await readFile(join(path, files[0]!));
    await truncate(join(path, files[1]!), bytes.length - 1);
    await truncate(join(path, files[3]!), 0);
    const flipped = await readFile(join(path, files[5]!));
    flipped[60] = (flipped[60] ?? 0) ^ 1;
    await writeFile(join(path, files[5]!), flipped);
    await writeFile(join(path, files[7]!), Buffer.alloc(bytes.length));
    await chmod(join(path, files[9]!), 0o400);
    const damaged = await Promise.all([1, 3, 5, 7].map((at) => readFile(join(path, files[at]!))));

    const server = await notingServer(port);
    const after = linkOf(url, { outbox: { folder } });
    try {
      await after.outbox.send();
      await after.call({ ...Tally.add, outbox: "early" }, {});
      const whole = made.filter((_, at) => ![1, 3, 5, 7].includes(at));
      expect(server.ids.slice(0, -1)).toEqual(whole);
      const aside = after.outbox.setAside.value;
      expect(aside).toHaveLength(4);
      const kept = await Promise.all(aside.map(({ where }) => readFile(where)));
      expect(new Set(kept.map(String))).toEqual(new Set(damaged.map(String)));
    } finally {
      await after.close();
    }
  });
});
