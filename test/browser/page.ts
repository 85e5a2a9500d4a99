/**
 * The program of the page, bundled for browsers: it does what the test asks for, with holdfast's own entries. The same
 * script is the worker's.
 */
import { HoldfastError, type Link, linkOf } from "holdfast";
import { indexedDbOutbox } from "holdfast/web/outbox";
import { webSocketWires } from "holdfast/web/wire";
import { type BoardClient, boardClient } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { Deed } from "../../examples/board/gen/board/v1/board_pb.ts";
import { Notebook } from "../../examples/notebook/gen/notebook/v1/notebook_holdfast.ts";
import { ConnectionFault } from "../../runtime/base/connection-fault.ts";
import { fetchClient } from "../../runtime/web/fetch-client.ts";
import type { Said } from "./page-host.ts";

const states: string[] = [];
const violations: string[] = [];
const happened: string[] = [];
let entries: readonly string[] = [];
let changed: () => void = () => undefined;

/** Made by the first deed that needs it. */
let board: { readonly link: Link; readonly client: BoardClient } | undefined;
let notebook: { add(request: { text: string }): Promise<{ id: number }> } | undefined;

const deeds = {
  /** Opens the link to the board; commands that get no answer wait in the browser's database. */
  openBoard(url: string, who: string): void {
    const link = linkOf(url, { account: who, token: () => who, outbox: { store: indexedDbOutbox() } });
    link.state.subscribe(({ kind }) => states.push(kind));
    board = { link, client: boardClient(link) };
  },

  async post(title: string): Promise<string> {
    return (await client().post({ title })).item?.id ?? "";
  },

  /** Posts with half a second for it; then the outbox has it. Resolves with what the program is told. */
  async postInVain(title: string): Promise<string> {
    return client()
      .post({ title }, { timeoutMs: 500 })
      .then(
        () => "posted",
        (error: unknown) => (error instanceof HoldfastError ? `${error.outcome}` : String(error)),
      );
  },

  async titles(): Promise<string[]> {
    return (await client().list({ all: true })).items.map(({ title }) => title);
  },

  /** The link's states so far. */
  states: (): readonly string[] => states,

  /** Begins to follow the board. Resolves when the first happening could not be missed any more. */
  async tail(): Promise<void> {
    const { seq } = await client().list({});
    const loop = async (): Promise<void> => {
      for await (const { item } of client().tail({ after: seq })) {
        happened.push(item?.title ?? "");
        changed();
      }
    };
    void loop();
  },

  /** What happened since `tail`, once it is so much. */
  async tailed(count: number): Promise<readonly string[]> {
    await until(() => happened.length >= count);
    return happened;
  },

  /** Opens many streams at once; resolves with what a query says while they are open. */
  async amongStreams(count: number): Promise<number> {
    const { seq } = await client().list({});
    let opened = 0;
    for (let made = 0; made < count; made += 1) {
      const loop = async (): Promise<void> => {
        for await (const { deed } of client().tail({ after: seq - 1 })) {
          if (deed === Deed.POSTED) opened += 1;
          changed();
        }
      };
      void loop();
    }
    await until(() => opened >= count);
    return (await client().list({ all: true })).items.length;
  },

  /** Holds a notebook. */
  hold(url: string, who: string): void {
    const link = linkOf(url, { account: who, token: () => who, wire: webSocketWires });
    const reference = link.hold(Notebook, { session: "page" }, { variant: "editor" });
    notebook = reference;
    reference.entries.subscribe((list) => {
      entries = list.entries.map(({ text }) => text);
      changed();
    });
  },

  async write(text: string): Promise<number> {
    if (notebook === undefined) throw new Error("hold first");
    return (await notebook.add({ text })).id;
  },

  /** The notebook's entries, once they are so many. */
  async entries(count: number): Promise<readonly string[]> {
    await until(() => entries.length >= count);
    return entries;
  },

  /** What a worker of this page reads from the board. */
  inWorker: (url: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const worker = new Worker("/page.js", { type: "module" });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(url);
    }),

  /**
   * What kind of fault it is for the link when a request is not answered, or not to its end. Once its answer has begun,
   * a second request says so to the server.
   */
  async faultOf(url: string): Promise<string> {
    const { origin } = new URL(url);
    try {
      const answer = await fetchClient({ origin }).send({ url, method: "GET", header: new Headers() });
      const body = answer.body[Symbol.asyncIterator]();
      await body.next();
      void fetch(`${url}/begun`, { mode: "no-cors" });
      while ((await body.next()).done !== true);
      return "none";
    } catch (error) {
      return error instanceof ConnectionFault ? error.kind : String(error);
    }
  },

  /** What the content security policy had to forbid; nothing of holdfast's. */
  violations: (): readonly string[] => violations,

  /** What a link without any sign-in says of a server that it cannot reach. */
  async lookAt(url: string, waitMs: number): Promise<string> {
    const link = linkOf(url);
    try {
      await boardClient(link).list({}, { timeoutMs: waitMs });
      return "";
    } catch (error) {
      return String(error);
    } finally {
      await link.close();
    }
  },
};

export type Deeds = typeof deeds;

/** What the test says to the page. */
interface Asked {
  readonly id: number;
  readonly name: keyof Deeds;
  readonly args: readonly unknown[];
}

function opened(): { readonly link: Link; readonly client: BoardClient } {
  if (board === undefined) throw new Error("openBoard first");
  return board;
}

const client = (): BoardClient => opened().client;

async function until(true_: () => boolean): Promise<void> {
  while (!true_()) {
    await new Promise<void>((resolve) => {
      const before = changed;
      changed = () => {
        before();
        resolve();
      };
    });
  }
}

function obeyTest(): void {
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
    violations.push(`${violatedDirective} ${blockedURI}`),
  );
  const socket = new WebSocket(location.href.replace(/^http/, "ws"));
  const say = (said: Said): void => socket.send(JSON.stringify(said));
  const obey = async ({ id, name, args }: Asked): Promise<void> => {
    try {
      const deed = deeds[name] as (...given: readonly unknown[]) => unknown;
      say({ kind: "done", id, value: await deed(...args) });
    } catch (error) {
      say({ kind: "failed", id, why: String(error) });
    }
  };
  socket.onmessage = ({ data }) => void obey(JSON.parse(String(data)) as Asked);
}

function obeyPage(): void {
  const read = async (url: string): Promise<string[]> => {
    await using link = linkOf(url, { account: "worker", token: () => "worker" });
    return (await boardClient(link).list({ all: true })).items.map(({ title }) => title);
  };
  addEventListener("message", ({ data }) => void read(String(data)).catch(String).then(postMessage));
}

/** Called by the bundle's entry: the package says that its files do nothing when they are loaded. */
export function run(): void {
  if ("document" in globalThis) obeyTest();
  else obeyPage();
}
