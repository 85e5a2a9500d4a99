/** What the process of a server under test is told. */
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { Change, Peer } from "../peer.ts";
import type { Operations } from "./remote.ts";
import { cpuUs, memory, type Memory, sharedNowMs } from "./usage.ts";

/** So far, since the process began. */
export interface ServerUsage {
  readonly cpuUs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly connections: number;
}

export interface ServerOperations extends Operations {
  readonly port: () => number;
  readonly usage: () => ServerUsage;
  readonly memory: () => Promise<Memory>;
  /** Publishes as often, `burst` in one turn of the event loop; gives when it began. */
  readonly publish: (count: number, burst: number, text: string) => number;
  readonly rewrite: (text: string) => number;
  readonly change: (change: Change) => number;
  /** Cuts all connections, and changes a little of everything that is held before they are back; gives when. */
  readonly drop: (touches: boolean) => number;
  /** When the first connection after the last cut came. */
  readonly back: () => number;
}

export async function serverSide(peer: Peer, file: string | undefined): Promise<ServerOperations> {
  const sockets = new Set<Socket>();
  const gone = { bytesIn: 0, bytesOut: 0 };
  let backAtMs = 0;
  subscribe("net.server.socket", (message) => {
    const { socket } = message as { socket: Socket };
    backAtMs ||= sharedNowMs();
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      gone.bytesIn += socket.bytesRead;
      gone.bytesOut += socket.bytesWritten;
    });
  });
  const served = await peer.serve(file === undefined ? {} : { file });
  let n = 0;
  return {
    port: () => served.port,
    usage() {
      let { bytesIn, bytesOut } = gone;
      for (const socket of sockets) {
        bytesIn += socket.bytesRead;
        bytesOut += socket.bytesWritten;
      }
      return { cpuUs: cpuUs(), bytesIn, bytesOut, connections: sockets.size };
    },
    memory,
    publish(count, burst, text) {
      const atMs = sharedNowMs();
      let left = count;
      const turn = (): void => {
        for (let one = 0; one < burst && left > 0; one += 1, left -= 1)
          served.publish?.({ n: (n += 1), text });
        if (left > 0) setImmediate(turn);
      };
      turn();
      return atMs;
    },
    rewrite(text) {
      const atMs = sharedNowMs();
      served.rewrite?.(text);
      return atMs;
    },
    change(change) {
      const atMs = sharedNowMs();
      served.change?.(change);
      return atMs;
    },
    drop(touches) {
      backAtMs = 0;
      const atMs = sharedNowMs();
      for (const socket of sockets) socket.destroy();
      if (touches) setImmediate(() => served.touch?.());
      return atMs;
    },
    back: () => backAtMs,
  };
}
