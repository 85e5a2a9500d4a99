/** The example of a page, as Chromium shows it. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { installedBrowsers } from "./browsers.ts";

const chromium = installedBrowsers().find(({ name }) => name === "chromium");

it.skipIf(chromium === undefined)(
  "shows the board, and takes a title for no HTML",
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-page-"));
    const args = ["--port", "0", "--page-port", "0", "--db", join(folder, "board.db")];
    const program = ["--conditions=holdfast-source", "--import", "tsx", "examples/page/server.ts"];
    const server = spawn(process.execPath, [...program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      let page = "";
      for await (const line of createInterface(server.stdout)) {
        page = line.replace("ann's board: ", "");
        break;
      }
      const board = new URL(page).searchParams.get("server") ?? "";
      await fetch(`${board}/board.v1.BoardService/Post`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer ann" },
        body: JSON.stringify({ title: "<b>milk</b>" }),
      });
      const shown = async (): Promise<string> => {
        const { stdout } = await promisify(execFile)(chromium?.path ?? "", [
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          `--user-data-dir=${join(folder, "profile")}`,
          "--virtual-time-budget=20000",
          "--dump-dom",
          page,
        ]);
        return stdout;
      };
      // On a busy machine the browser's virtual time may be over before the page has all.
      let stdout = await shown();
      for (let look = 0; look < 4 && !stdout.includes("</li>"); look += 1) stdout = await shown();
      expect(stdout).toContain('<span class="title">&lt;b&gt;milk&lt;/b&gt;</span>');
      expect(stdout).toContain('<button class="">Claim</button>');
    } finally {
      server.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  },
);
