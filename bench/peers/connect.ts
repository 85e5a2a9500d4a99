/** Connect, in its binary format: unary calls, server streaming, and its duplex stream as a pipe for calls. */
import { once } from "node:events";
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ConnectRouter, createClient, type Transport } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import {
  changePage,
  type Connected,
  firstPage,
  type Note as PlainNote,
  type Peer,
  pouredText,
  type Served,
} from "../peer.ts";
import {
  DuplexService,
  type Note,
  NoteSchema,
  type PageSchema,
  PageService,
  WorkService,
} from "../load/gen/bench/load/v1/load_pb.ts";

/** A queue for each that follows, as an async generator reads it. */
class Queue<T> {
  #items: T[] = [];
  #wake: (() => void) | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  async *read(signal?: AbortSignal): AsyncGenerator<T> {
    signal?.addEventListener("abort", () => this.#wake?.());
    while (signal?.aborted !== true) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

type Init = MessageInitShape<typeof NoteSchema>;
const answered = ({ text, n, id }: Note): Init => ({ text, n: n + 1, id });

async function serve(httpVersion: "1.1" | "2"): Promise<Served> {
  const followers = new Set<Queue<Init>>();
  const watchers = new Set<Queue<MessageInitShape<typeof PageSchema>>>();
  let page = firstPage();
  const routes = (router: ConnectRouter): void => {
    router.service(WorkService, {
      ask: answered,
      enter: answered,
      async *pour(_, { signal }) {
        for (let n = 1; !signal.aborted; n += 1) yield { text: pouredText, n };
      },
      async *tail(_, { signal }) {
        const queue = new Queue<Init>();
        followers.add(queue);
        queue.push({ text: "open" });
        signal.addEventListener("abort", () => followers.delete(queue));
        yield* queue.read(signal);
      },
    });
    router.rpc(PageService.method.content, async function* (_, { signal }) {
      const queue = new Queue<MessageInitShape<typeof PageSchema>>();
      watchers.add(queue);
      queue.push(page);
      signal.addEventListener("abort", () => watchers.delete(queue));
      yield* queue.read(signal);
    });
    router.service(DuplexService, {
      async *ask(notes) {
        for await (const note of notes) yield answered(note);
      },
    });
  };
  const adapter = connectNodeAdapter({ routes });
  const server =
    httpVersion === "2"
      ? createHttp2Server({ settings: { maxConcurrentStreams: 20_000 } }, adapter)
      : createHttp1Server(adapter);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    publish(note) {
      for (const queue of followers) queue.push(note);
    },
    rewrite(text) {
      page = { ...page, text };
      for (const queue of watchers) queue.push(page);
    },
    change(change) {
      page = { ...page, lines: page.lines.map((line) => ({ ...line })) };
      changePage(page, change);
      for (const queue of watchers) queue.push(page);
    },
  };
}

async function transportTo(port: number, httpVersion: "1.1" | "2"): Promise<Transport> {
  const baseUrl = `http://127.0.0.1:${port}`;
  if (httpVersion === "1.1") return createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: true });
  const sessionManager = new Http2SessionManager(baseUrl);
  await sessionManager.connect();
  return createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: true, sessionManager });
}

async function connect(port: number, httpVersion: "1.1" | "2"): Promise<Connected> {
  const transport = await transportTo(port, httpVersion);
  const client = createClient(WorkService, transport);
  const pages = createClient(PageService, transport);
  return {
    ask: (note) => client.ask(note),
    async pour(got) {
      for await (const { n } of client.pour({})) if (!got(n > 0 ? 1 : 0)) break;
    },
    follow: (heard) => afterFirst(client.tail({}), () => heard(1)),
    watch: (heard) => afterFirst(pages.content({}), heard),
  };
}

/** Resolves with the first message, and calls `heard` for each one after it. */
async function afterFirst(messages: AsyncIterable<unknown>, heard: () => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const read = async (): Promise<void> => {
      let isFirst = true;
      for await (const message of messages) {
        if (isFirst && message !== undefined) resolve();
        else heard();
        isFirst = false;
      }
    };
    read().catch(reject);
  });
}

async function connectDuplex(port: number): Promise<Connected> {
  const client = createClient(DuplexService, await transportTo(port, "2"));
  const queue = new Queue<Init>();
  const waiting = new Map<number, (note: PlainNote) => void>();
  const read = async (): Promise<void> => {
    for await (const note of client.ask(queue.read())) {
      const resolve = waiting.get(note.id);
      waiting.delete(note.id);
      resolve?.(note);
    }
  };
  read().catch((error: unknown) => {
    throw error;
  });
  let id = 0;
  return {
    ask: ({ text, n }) =>
      new Promise((resolve) => {
        id += 1;
        waiting.set(id, resolve);
        queue.push(create(NoteSchema, { text, n, id }));
      }),
  };
}

export const peers: readonly Peer[] = [
  { name: "Connect, HTTP/2", serve: () => serve("2"), connect: (port) => connect(port, "2") },
  { name: "Connect, HTTP/1.1", serve: () => serve("1.1"), connect: (port) => connect(port, "1.1") },
  { name: "Connect, duplex", serve: () => serve("2"), connect: connectDuplex },
];
