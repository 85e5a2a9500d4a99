// What held objects cost over a wire in memory, both ends in one process: a reconnect with many references, calls
// that waited, live calls, and a change that many watch.
//   npm run bench:objects -- [--codec json|msgpack] [--most N] [--json FILE]
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createHost, type Host, state } from "holdfast/hold";
import { memoryPair, type Wire } from "holdfast/wire";
import { Sheet, type SheetReference } from "./objects/gen/bench/objects/v1/sheet_holdfast.ts";
import { SheetContentSchema } from "./objects/gen/bench/objects/v1/sheet_pb.ts";

const { values } = parseArgs({
  options: {
    codec: { type: "string" },
    most: { type: "string", default: "10000" },
    json: { type: "string" },
  },
});
const codecs = (values.codec === undefined ? ["msgpack", "json"] : [values.codec]) as ("msgpack" | "json")[];
const most = Number(values.most);
const nobody = { principal: { by: undefined, grants: [] } };

type Sheets = Map<string, ReturnType<typeof state<typeof SheetContentSchema>>>;

/** Serves sheets that stay warm. */
function provider(): { readonly host: Host; readonly sheets: Sheets } {
  const host = createHost();
  const sheets: Sheets = new Map();
  host.serve(Sheet, ({ params }) => {
    const content = state(SheetContentSchema, { title: `sheet ${params.id}`, text: "x".repeat(100) });
    sheets.set(params.id, content);
    const write = ({ text }: { readonly text: string }): { revision: number } => {
      content.update((draft) => {
        draft.text = text;
        draft.revision += 1;
      });
      return { revision: content.value.revision };
    };
    return { content, write, count: () => ({ count: content.value.revision }) };
  });
  return { host, sheets };
}

interface Counted {
  readonly wire: Wire;
  sentBytes: number;
  receivedBytes: number;
}

/** Bytes of packets each way. */
function counted(wire: Wire): Counted {
  const counts = { sentBytes: 0, receivedBytes: 0 };
  const send = wire.send.bind(wire);
  const onPacket = wire.onPacket.bind(wire);
  wire.send = (packet) => {
    counts.sentBytes += packet.length;
    send(packet);
  };
  wire.onPacket = (fn) =>
    onPacket((packet) => {
      counts.receivedBytes += packet.length;
      fn(packet);
    });
  return Object.assign(counts, { wire });
}

async function connected(
  from: Host,
  to: Host,
  codec: "msgpack" | "json",
): Promise<Counted & { close(): Promise<void> }> {
  const [mine, theirs] = memoryPair();
  const counts = counted(mine);
  to.accept(theirs, nobody);
  const connection = from.connect(mine, { codec });
  await connection.opened;
  return Object.assign(counts, {
    async close() {
      connection.close();
      await connection.closed;
    },
  });
}

async function live(references: readonly SheetReference[]): Promise<void> {
  for (const { $state } of references) {
    if ($state.value.kind === "live") continue;
    for await (const { kind } of $state) if (kind === "live") break;
  }
}

const rows: Record<string, unknown>[] = [];

function report(row: Record<string, unknown>): void {
  rows.push(row);
  console.log(
    Object.entries(row)
      .map(
        ([name, value]) =>
          `${name} ${typeof value === "number" ? Math.round(value * 100) / 100 : String(value)}`,
      )
      .join(", "),
  );
}

async function reconnects(codec: "msgpack" | "json", count: number): Promise<void> {
  const { host, sheets } = provider();
  const holder = createHost({ connects: true });
  let wire = await connected(holder, host, codec);
  const references = Array.from({ length: count }, (_, at) => holder.hold(Sheet, { id: `${at}` }));
  await live(references);
  for (const changed of [false, true]) {
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await wire.close();
      if (changed)
        for (const content of sheets.values()) content.update((draft) => void (draft.revision += 1));
      const startMs = performance.now();
      wire = await connected(holder, host, codec);
      await live(references);
      times.push(performance.now() - startMs);
    }
    times.sort((a, b) => a - b);
    report({
      what: changed ? "reconnect, all changed" : "reconnect, none changed",
      codec,
      references: count,
      "ms until all are live": times[2] ?? 0,
      "bytes sent": wire.sentBytes,
      "bytes received": wire.receivedBytes,
    });
  }
  await holder.close();
  await host.close();
}

async function calls(codec: "msgpack" | "json"): Promise<void> {
  const { host } = provider();
  const holder = createHost({ connects: true });
  let wire = await connected(holder, host, codec);
  const sheet = holder.hold(Sheet, { id: "1" });
  await live([sheet]);
  await wire.close();
  const waited = Array.from({ length: 1_000 }, (_, at) => sheet.write({ text: `${at}` }));
  const startMs = performance.now();
  wire = await connected(holder, host, codec);
  const replies = await Promise.all(waited);
  const inOrder = replies.every(({ revision }, at) => revision === at + 1);
  report({ what: "1,000 calls that waited", codec, ms: performance.now() - startMs, "in order": inOrder });
  for (const [name, call] of [
    ["commands", () => sheet.write({ text: "y" })],
    ["queries", () => sheet.count({})],
  ] as const) {
    for (const inFlight of [1, 100]) {
      const from = performance.now();
      let count = 0;
      const lane = async (): Promise<void> => {
        for (; performance.now() - from < 1_000; count += 1) await call();
      };
      await Promise.all(Array.from({ length: inFlight }, lane));
      report({
        what: `live ${name}`,
        codec,
        "in flight": inFlight,
        "a second": (count * 1_000) / (performance.now() - from),
      });
    }
  }
  await holder.close();
  await host.close();
}

async function fanOut(codec: "msgpack" | "json", watcherCount: number): Promise<void> {
  const { host, sheets } = provider();
  const holders = Array.from({ length: watcherCount }, () => createHost({ connects: true }));
  let heard = 0;
  const references: SheetReference[] = [];
  for (const holder of holders) {
    await connected(holder, host, codec);
    const sheet = holder.hold(Sheet, { id: "1" });
    references.push(sheet);
  }
  await live(references);
  for (const sheet of references) sheet.content.subscribe(() => (heard += 1));
  const content = sheets.get("1");
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    heard = 0;
    const startMs = performance.now();
    content?.update((draft) => void (draft.text += "z"));
    while (heard < watcherCount) await new Promise((resolve) => setImmediate(resolve));
    times.push(performance.now() - startMs);
  }
  times.sort((a, b) => a - b);
  report({ what: "a change to all watchers", codec, watchers: watcherCount, ms: times[10] ?? 0 });
  await Promise.all(holders.map((holder) => holder.close()));
  await host.close();
}

for (const codec of codecs) {
  for (const count of [1, 100, 1_000, 10_000]) if (count <= most) await reconnects(codec, count);
  await calls(codec);
  await fanOut(codec, Math.min(most, 1_000));
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`);
