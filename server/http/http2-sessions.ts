/**
 * HTTP/2 connections under limits that Node does not set by itself: one that sends no request, one that has none
 * for a long time, and one whose client resets its requests as fast as it makes them ("rapid reset",
 * CVE-2023-44487) are closed; nobody else notices.
 *
 * Source: design "Quality: Security".
 */
import { constants, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";

/** Resets are counted over this time. */
const resetWindowMs = 10_000;

export interface Http2Sessions {
  readonly openCount: number;
  /** Sends GOAWAY on every connection after a wait of its own; it closes when its last stream has ended. */
  drain(waitMs: () => number): void;
  /** Ends all connections now. */
  destroy(): void;
}

/** Watches every connection of the server from now on. */
export function watchHttp2Sessions(
  server: Http2Server,
  parts: { readonly clock: Clock; readonly limits: Limits; readonly log: Log },
): Http2Sessions {
  const sessions = new Map<ServerHttp2Session, Watch>();
  let leave: (() => number) | undefined;
  server.on("session", (session) => {
    const watch = new Watch(session, parts);
    sessions.set(session, watch);
    session.on("close", () => {
      sessions.delete(session);
      watch.stop();
    });
    if (leave !== undefined) watch.leaveAfter(leave());
  });
  // A session's error ends the session; without a listener it would end the process.
  server.on("sessionError", (error: Error) =>
    parts.log.info("an HTTP/2 connection failed", { error: error.message }),
  );
  return {
    get openCount() {
      return sessions.size;
    },
    drain(waitMs) {
      leave = waitMs;
      for (const watch of sessions.values()) watch.leaveAfter(waitMs());
    },
    destroy() {
      for (const session of sessions.keys()) session.destroy();
    },
  };
}

/** One connection's timers and counts. */
class Watch {
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #resets: number[] = [];
  #streamCount = 0;
  #quiet: Timer | undefined;
  #leaving: Timer | undefined;

  constructor(session: ServerHttp2Session, parts: { clock: Clock; limits: Limits }) {
    this.#session = session;
    this.#clock = parts.clock;
    this.#limits = parts.limits;
    session.on("error", () => undefined); // reported as "sessionError"
    session.on("stream", (stream) => this.#opened(stream));
    this.#quietFor(parts.limits.headersWaitMs, () => session.destroy());
  }

  leaveAfter(waitMs: number): void {
    this.#leaving ??= this.#clock.timer(waitMs, () => this.#session.close());
  }

  stop(): void {
    this.#quiet?.cancel();
    this.#leaving?.cancel();
  }

  #quietFor(waitMs: number, then: () => void): void {
    this.#quiet?.cancel();
    this.#quiet = this.#clock.timer(waitMs, then, { background: true });
  }

  #opened(stream: ServerHttp2Stream): void {
    this.#quiet?.cancel();
    this.#streamCount += 1;
    stream.on("error", () => undefined); // the request's own reader is told; without a listener the process ends
    stream.on("close", () => {
      this.#streamCount -= 1;
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#reset();
      if (this.#streamCount === 0 && !this.#session.closed) {
        this.#quietFor(this.#limits.idleConnectionMs, () => this.#session.close());
      }
    });
  }

  #reset(): void {
    const now = this.#clock.monotonic();
    this.#resets.push(now);
    if (this.#resets.length <= this.#limits.resetsPerConnectionMost) return;
    const first = this.#resets.shift() ?? now;
    if (now - first > resetWindowMs) return;
    // Says why in a GOAWAY and closes at once: a peer that misbehaves is not waited for.
    const error = new Error("the client reset its requests too often");
    this.#session.destroy(error, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}
