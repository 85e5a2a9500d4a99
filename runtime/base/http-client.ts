/**
 * The seam to a platform's HTTP. A link has one client at a time, shared by all links of that server, and
 * opens a new one after a connection fault; the old one takes no new request and closes when its last is
 * over.
 */
import type { UniversalClientFn } from "@connectrpc/connect/protocol";
import type { Clock } from "./clock.ts";

export interface HttpClient {
  /**
   * Sends one request and gives the answer as soon as its headers are there; reading the body may then still
   * fail. Rejects, and lets the body's iterable fail, with a `ConnectionFault`, or with the signal's reason
   * once that has aborted; never with anything else. Connects when it has to, inside `connectWaitMs`.
   */
  readonly send: UniversalClientFn;
  /** Takes no new request; ends its connections once the last one under way is over. */
  retire(): void;
  /** Ends all connections now: requests under way fail as cut. */
  close(): void;
}

export interface HttpOptions {
  /** Where the server is: an origin, such as "https://board.example.com". */
  readonly origin: string;
  /** Ms for one connect, handshakes included. */
  readonly connectWaitMs: number;
  readonly clock: Clock;
}
