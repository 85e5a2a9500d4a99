/**
 * HTTP/1.1 connections when the server drains: an idle one is closed; a busy one when its answer is out, since
 * the head of that may have been sent before anybody knew.
 */
import type { Server } from "node:http";
import type { Clock, Timer } from "../../runtime/base/clock.ts";

export interface Http1Connections {
  /** Begins to close them after a wait. */
  drain(waitMs: number): void;
  /** Ends all of them now. */
  destroy(): void;
}

export function watchHttp1Connections(server: Server, clock: Clock): Http1Connections {
  let leaving = false;
  let timer: Timer | undefined;
  const leave = (): void => {
    leaving = true;
    server.closeIdleConnections();
  };
  server.on("request", (_request, response) => {
    response.once("close", () => {
      // Node counts the connection as idle when this turn is over.
      if (leaving) clock.timer(0, leave, { background: true });
    });
  });
  return {
    drain(waitMs) {
      timer ??= clock.timer(waitMs, leave, { background: true });
    },
    destroy() {
      timer?.cancel();
      server.closeAllConnections();
      server.close(() => undefined); // it never listened: this stops its checks alone
    },
  };
}
