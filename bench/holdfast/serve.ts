/** holdfast's server for all its ways, as a user writes it. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createServer, state } from "holdfast/server";
import { sqliteStore } from "holdfast/server/sqlite";
import { changePage, firstPage, type Note, pouredText, type ServeOptions, type Served } from "../peer.ts";
import { Page, Work } from "../load/gen/bench/load/v1/load_holdfast.ts";
import { LineSchema, type NoteSchema, PageSchema } from "../load/gen/bench/load/v1/load_pb.ts";

/** Thousands of clients of one address are one caller here: what is allowed to one caller is raised. */
const limits = {
  wiresPerCallerMost: 20_000,
  greetingsPerAddressMost: 20_000,
  streamsPerConnectionMost: 20_000,
};

export async function serve({ file }: ServeOptions): Promise<Served> {
  const server = createServer({ limits, ...(file === undefined ? {} : { store: sqliteStore(file) }) });
  const tail = server.topic(Work.tail, "");
  const pages = new Map<string, ReturnType<typeof state<typeof PageSchema>>>();
  server.implement(Work, {
    ask: ({ text, n }) => ({ text, n: n + 1 }),
    enter: ({ text, n }) => ({ text, n: n + 1 }),
    tail: (_, ctx) => ctx.follow(tail),
    pour: (_, ctx) => ctx.numbered({ after: poured }),
  });
  server.serve(Page, ({ params: { id } }) => {
    // The first page is the one that is watched; the others are many, and small.
    const content = state(PageSchema, id === "0" ? firstPage() : { text: "x".repeat(100), revision: 1 });
    pages.set(id, content);
    const write = ({ text, n }: Note): MessageInitShape<typeof NoteSchema> => {
      content.update((draft) => {
        draft.text = text;
        draft.revision += 1;
      });
      return { text, n: n + 1, id: content.value.revision };
    };
    return { content, write };
  });
  const { port } = await server.listen({ host: "127.0.0.1" });
  return {
    port,
    publish: (note) => void tail.publish(note),
    rewrite: (text) => pages.get("0")?.update((draft) => void (draft.text = text)),
    touch() {
      for (const content of pages.values()) content.update((draft) => void (draft.revision += 1));
    },
    change: (change) =>
      pages.get("0")?.update((draft) => {
        const before = draft.lines.length;
        changePage(draft, change);
        const added = draft.lines[before];
        if (added !== undefined) draft.lines[before] = create(LineSchema, added);
      }),
  };
}

// A source that always has more must leave the event loop a turn now and then, or its server does nothing else.
async function* poured(seq: number): AsyncGenerator<readonly [number, { text: string; n: number }]> {
  for (let n = seq + 1; ; n += 1) {
    yield [n, { text: pouredText, n }];
    if (n % 128 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
