/** holdfast as a page in a browser has it: all streams of a link on one WebSocket. */
import { linkOf } from "holdfast/web";
import { WebSocket } from "ws";
import type { Connected, Peer } from "../peer.ts";
import { workClient } from "../load/gen/bench/load/v1/load_holdfast.ts";
import { opened } from "./follow.ts";
import { serve } from "./serve.ts";

let linkCount = 0;

async function connect(port: number): Promise<Connected> {
  linkCount += 1;
  const link = linkOf(`http://127.0.0.1:${port}`, {
    account: `a${linkCount}`,
    webSocket: WebSocket as unknown as typeof globalThis.WebSocket, // as Node 22 has it built in
  });
  const work = workClient(link);
  return {
    follow: (heard) => opened(work.tail({}), heard),
    async pour(got) {
      for await (const { n } of work.pour({})) if (!got(n > 0 ? 1 : 0)) break;
    },
  };
}

export const peers: readonly Peer[] = [{ name: "holdfast, shared wire", serve, connect }];
