/** holdfast as a program of Node has it: calls over HTTP and over a wire, streams of their own, references. */
import { linkOf } from "holdfast/node";
import { type Connected, type Peer } from "../peer.ts";
import { Page, workClient } from "../load/gen/bench/load/v1/load_holdfast.ts";
import { held, opened, watched } from "./follow.ts";
import { serve } from "./serve.ts";

type Options = NonNullable<Parameters<typeof linkOf>[1]>;

let linkCount = 0;

async function connect(port: number, options: Options): Promise<Connected> {
  linkCount += 1; // each link is one more account: the same account would get the same link
  const link = linkOf(`http://127.0.0.1:${port}`, { account: `a${linkCount}`, ...options });
  const work = workClient(link);
  await work.ask({ text: "first", n: 1 }); // opens the connection
  const overWire = options.calls === "wire";
  return {
    ask: (note) => work.ask(note),
    enter: (note) => work.enter(note),
    async pour(got) {
      for await (const { n } of work.pour({})) if (!got(n > 0 ? 1 : 0)) break;
    },
    follow: (heard) => opened(work.tail({}), heard),
    ...(overWire
      ? {
          watch: (heard: () => void) => watched(link.hold(Page, { id: "0" }), heard),
          hold: (count: number, live: () => void) =>
            held(
              Array.from({ length: count }, (_, at) => link.hold(Page, { id: `${at + 1}` })),
              live,
            ),
        }
      : {}),
  };
}

function peer(name: string, options: Options): Peer {
  return { name, serve, connect: (port) => connect(port, options) };
}

/** Commands on a reference, each of which changes its state. */
async function connectReference(port: number): Promise<Connected> {
  linkCount += 1;
  const link = linkOf(`http://127.0.0.1:${port}`, { account: `a${linkCount}` });
  const page = await link.get(Page, { id: "1" });
  return { enter: (note) => page.write(note) };
}

export const peers: readonly Peer[] = [
  peer("holdfast, HTTP/2", { calls: "http" }),
  peer("holdfast, HTTP/1.1", { calls: "http", httpVersion: "1.1" }),
  peer("holdfast, wire", { calls: "wire" }),
  peer("holdfast, wire in JSON", { calls: "wire", codec: "json" }),
  { name: "holdfast, reference", serve, connect: connectReference },
];
