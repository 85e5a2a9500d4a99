/** holdfast in the browsers of this machine, over real sockets that break. Without a browser nothing of this runs. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { memoryStore } from "holdfast/server";
import { boardServer } from "../../examples/board/board-server.ts";
import { notebookServer } from "../../examples/notebook/notebook-server.ts";
import { type FaultyProxy, faultyProxy } from "../../runtime/testing/node.ts";
import { listen } from "../http/support.ts";
import { type Harness, harness } from "../support/harness.ts";
import { installedBrowsers } from "./browsers.ts";
import { type Page, PageHost } from "./page-host.ts";

const browsers = installedBrowsers();

it.skipIf(browsers.length > 0)("finds no browser, so that nothing of this is tried", () => {
  expect(browsers).toEqual([]);
});

const named = browsers.map((browser) => [browser.name, browser] as const);

// A browser needs some seconds for its start on a busy machine.
describe.each(named)("in %s", { timeout: 60_000 }, (_, browser) => {
  let pages: PageHost;
  let profile: string;
  let held: Harness;
  let page: Page;
  let ran: string[];
  let board: FaultyProxy;
  let notebook: FaultyProxy;

  beforeAll(async () => {
    pages = await PageHost.start();
  });
  afterAll(() => pages[Symbol.asyncDispose]());

  beforeEach(async () => {
    profile = mkdtempSync(join(tmpdir(), "holdfast-browser-"));
    held = harness();
    ran = [];
    const cors = { origins: [pages.origin] };
    const boards = held.own(
      await boardServer({ store: memoryStore(), cors }, (method, callId) => ran.push(`${method} ${callId}`)),
    );
    const notebooks = held.own(notebookServer({ cors }));
    const target = async (server: typeof boards): Promise<FaultyProxy> => {
      const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
      return held.own(await faultyProxy({ target: { port } }));
    };
    board = await target(boards);
    notebook = await target(notebooks);
    page = await pages.open(browser, profile);
  });

  afterEach(async () => {
    await page.kill();
    await held[Symbol.asyncDispose]();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });

  it("runs a command once whose answer is lost, and says that the link is up again", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("titles");
    board.replies.lost = true;
    const lost = board.next("replyLost");
    const posted = page.do("post", "milk");
    await lost;
    board.cut();
    await board.heal();
    expect(await posted).toBe("issue-1");
    expect(ran).toHaveLength(1);
    expect(await page.do("titles")).toEqual(["milk"]);
    expect((await page.do("states")).at(-1)).toBe("up");
  });

  it("follows a stream through a drop, each item once", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("tail");
    await page.do("post", "one");
    await page.do("tailed", 1);
    board.cut();
    await page.do("post", "two");
    board.cut();
    await page.do("post", "three");
    expect(await page.do("tailed", 3)).toEqual(["one", "two", "three"]);
  });

  it("answers a call beside twenty open streams", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("post", "one");
    expect(await page.do("amongStreams", 20)).toBe(1);
  });

  it("holds an object through a drop, and what was written meanwhile waits", async () => {
    await page.do("hold", notebook.origin, "ann");
    await page.do("write", "one");
    await notebook.refuse();
    notebook.cut();
    const second = page.do("write", "two");
    await notebook.accept();
    expect(await second).toBe(2);
    expect(await page.do("entries", 2)).toEqual(["one", "two"]);
  });

  it("sends after a crash of the browser what waited in its database, once", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("post", "first");
    await board.refuse();
    board.cut();
    expect(await page.do("postInVain", "second")).toBe("in-outbox");
    await page.kill();
    await board.accept();
    page = await pages.open(browser, profile);
    await page.do("openBoard", board.origin, "ann");
    // A command goes behind what waits.
    expect(await page.do("post", "third")).toBe("issue-3");
    expect(await page.do("titles")).toEqual(["third", "second", "first"]);
    expect(ran).toHaveLength(3);
  });

  it("goes on after its processes stood still, as in a laptop that sleeps", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("tail");
    page.freeze();
    board.cut();
    page.thaw();
    await page.do("post", "awake");
    expect(await page.do("tailed", 1)).toEqual(["awake"]);
  });

  it("calls from a worker", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("post", "one");
    expect(await page.do("inWorker", board.origin)).toEqual(["one"]);
  });

  it("says that CORS may be the reason when the server does not know the page's origin", async () => {
    const strict = held.own(await boardServer({ store: memoryStore() }));
    const { port } = await strict.listen({ host: "127.0.0.1", port: 0 });
    expect(await page.do("lookAt", `http://127.0.0.1:${port}`, 2_000)).toContain("CORS");
  });

  it("says of a cut answer that it was cut, and of one that never came nothing certain", async () => {
    let cut: () => void = () => undefined;
    const half = createServer(({ url }, answer) => {
      if (url === "/begun") {
        cut();
        answer.end();
        return;
      }
      cut = () => answer.destroy();
      answer.writeHead(200, {
        "access-control-allow-origin": "*",
        "content-length": "100",
        "content-type": "application/proto", // without one, Firefox waits for more
      });
      answer.write("the first part");
    });
    const port = await listen(half);
    const url = `http://127.0.0.1:${port}`;
    expect(await page.do("faultOf", url)).toBe("cut");
    half.closeAllConnections();
    await new Promise((resolve) => half.close(resolve));
    expect(await page.do("faultOf", url)).toBe("unknown");
  });

  it("runs under a strict content security policy", async () => {
    await page.do("openBoard", board.origin, "ann");
    await page.do("post", "one");
    await page.do("hold", notebook.origin, "ann");
    await page.do("write", "one");
    expect(await page.do("violations")).toEqual([]);
  });
});
