/** A server and a client of one system, each in a process of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunOptions } from "../workload.ts";
import type { ClientOperations } from "./client-side.ts";
import { type Remote, start } from "./remote.ts";
import type { ServerOperations } from "./server-side.ts";

export interface Pair {
  readonly server: Remote<ServerOperations>;
  readonly client: Remote<ClientOperations>;
  readonly stop: () => Promise<void>;
}

const file = new URL("process.ts", import.meta.url);

/**
 * @param durable - whether the server keeps what it promised in a file, in the project's own folder: a temporary one
 * may lie in memory, where a sync costs nothing.
 */
export async function startPair(
  peer: string,
  { profiles }: Pick<RunOptions, "profiles">,
  durable = false,
): Promise<Pair> {
  const folder = durable ? mkdtempSync(join(process.cwd(), ".holdfast/bench-")) : undefined;
  const nodeOptions = (role: string): string[] =>
    profiles === undefined
      ? ["--expose-gc"]
      : [
          "--expose-gc",
          "--cpu-prof",
          `--cpu-prof-dir=${join(profiles, `${peer.replaceAll(/\W+/g, "-")}-${role}`)}`,
        ];
  const database = folder === undefined ? [] : [join(folder, "bench.db")];
  const starting = [
    start<ServerOperations>(file, ["server", peer, ...database], nodeOptions("server")),
    start<ClientOperations>(file, ["client", peer], nodeOptions("client")),
  ] as const;
  try {
    const [server, client] = await Promise.all(starting);
    await client.its.serverAt(await server.its.port());
  } catch (error) {
    for (const one of await Promise.allSettled(starting))
      if (one.status === "fulfilled") await one.value.stop();
    throw error;
  }
  const [server, client] = [await starting[0], await starting[1]];
  return {
    server: server.its,
    client: client.its,
    async stop() {
      await client.stop();
      await server.stop();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
