/**
 * The seam to a platform's HTTP. A link has one client at a time, shared by all links of that server, and
 * opens a new one after a connection fault; the old one takes no new request and closes when its last is
 * over.
 */
import type { UniversalClientRequest, UniversalClientResponse } from "@connectrpc/connect/protocol";
import type { Clock } from "./clock.ts";
import type { Stop } from "./late-signal.ts";

export interface HttpClient {
  /**
   * Sends one request and gives the answer as soon as its headers are there; reading the body may then still
   * fail. Rejects, and lets the body's iterable fail, with a `ConnectionFault`, or with the signal's reason
   * once that has aborted; never with anything else. Connects when it has to, inside `connectWaitMs`.
   */
  send(request: HttpRequest): Promise<UniversalClientResponse>;
  /**
   * Whether anything answers at this URL: the headers of the answer where they can be read, else undefined.
   * Rejects as `send` does.
   */
  reach(url: string, signal: AbortSignal): Promise<Headers | undefined>;
  /** Takes no new request; ends its connections once the last one under way is over. */
  retire(): void;
  /** Ends all connections now: requests under way fail as cut. */
  close(): void;
}

export interface HttpRequest extends Omit<UniversalClientRequest, "signal"> {
  /** Tells when nobody waits for it any more. */
  readonly signal?: Stop | undefined;
  /**
   * Called once, before the first byte that a server could act on leaves; at the latest when that cannot be
   * told any more. A request that ends before has certainly not been worked on.
   */
  readonly onSent?: () => void;
}

export interface HttpOptions {
  /** Where the server is: an origin, such as "https://board.example.com". */
  readonly origin: string;
  /** Ms for one connect, handshakes included. */
  readonly connectWaitMs: number;
  readonly clock: Clock;
}
