/**
 * Serves the page to browsers, under a strict content security policy, and lets a test call the page's deeds: over a
 * WebSocket that the page opens, so that no driver of a browser is needed.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { type WebSocket, WebSocketServer } from "ws";
import { bundleForBrowsers } from "../../scripts/browser-bundle.ts";
import { type Browser, openBrowser, type RunningBrowser } from "./browsers.ts";
import type { Deeds } from "./page.ts";

/** A page that is open in a browser. */
export interface Page extends RunningBrowser {
  /** Calls one of the page's deeds; rejects with the text of what it throws. */
  do<Name extends keyof Deeds>(
    name: Name,
    ...args: Parameters<Deeds[Name]>
  ): Promise<Awaited<ReturnType<Deeds[Name]>>>;
}

/** What the page says to the test. */
export type Said =
  | { readonly kind: "done"; readonly id: number; readonly value?: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly why: string };

const policy =
  "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src http://127.0.0.1:* ws://127.0.0.1:*";

const html = `<!doctype html><meta charset="utf-8"><title>page</title><script type="module" src="/page.js"></script>`;

export class PageHost implements AsyncDisposable {
  readonly #http: Server;
  readonly #pages: WebSocketServer;
  readonly #running = new Set<RunningBrowser>();

  static async start(): Promise<PageHost> {
    const here = fileURLToPath(new URL(".", import.meta.url));
    const { code } = await bundleForBrowsers(`import { run } from "./page.ts"; run();`, { from: here });
    const host = new PageHost(code);
    await new Promise<void>((resolve) => host.#http.listen(0, "127.0.0.1", resolve));
    return host;
  }

  private constructor(code: string) {
    this.#http = createServer(({ url }, answer) => {
      const script = url === "/page.js";
      answer.setHeader("content-security-policy", policy);
      answer.setHeader("content-type", script ? "text/javascript" : "text/html");
      answer.end(script ? code : html);
    });
    this.#pages = new WebSocketServer({ server: this.#http });
  }

  /** "http://127.0.0.1:" and the port: the origin of every page. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Opens the page and waits until its script runs. */
  async open(browser: Browser, profile: string): Promise<Page> {
    const socket = new Promise<WebSocket>((resolve) => this.#pages.once("connection", resolve));
    const running = openBrowser(browser, profile, this.origin);
    this.#running.add(running);
    return pageOf(running, await socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((one) => one.kill()));
    this.#pages.close();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

function pageOf(running: RunningBrowser, socket: WebSocket): Page {
  const waiting = new Map<number, Waiting>();
  let ids = 0;
  socket.on("message", (data: Buffer) => {
    const said = JSON.parse(data.toString()) as Said;
    const one = waiting.get(said.id);
    waiting.delete(said.id);
    if (said.kind === "done") one?.resolve(said.value as never);
    else one?.reject(new Error(said.why));
  });
  socket.on("close", () => {
    for (const { reject } of waiting.values()) reject(new Error("the page is gone"));
  });
  return {
    ...running,
    do: (name, ...args) =>
      new Promise((resolve, reject) => {
        const id = ++ids;
        waiting.set(id, { resolve, reject });
        socket.send(JSON.stringify({ id, name, args }));
      }),
  };
}
