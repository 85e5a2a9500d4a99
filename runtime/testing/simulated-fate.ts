/**
 * What happens to one request of a simulated network, decided before it leaves. A WebSocket is asked for by a request
 * too, and what its request meets is what it meets: `cutAfterChunks` counts its packets.
 */

/** A request as whoever decides its fate sees it. */
export interface SimulatedRequest {
  /** The name of the process that sends it. */
  readonly client: string;
  /** Which request of that process it is: 1, 2, 3 … */
  readonly number: number;
  readonly url: string;
  readonly header: Headers;
}

/** An answer of somebody else than the server: a proxy, a hosting edge, a sign-in page. */
export interface ForeignAnswer {
  readonly status: number;
  readonly header: HeadersInit;
  readonly body: string;
}

/** Everything is absent for a network without faults. */
export interface Fate {
  /** Ms that a request, a connect and each part of an answer take one way. Default 1. */
  readonly latencyMs?: number;
  /** For a request that has to connect first: nobody listens, or the connect never ends. */
  readonly connect?: "refused" | "hang";
  /**
   * - `lost`: it never arrives, and nobody says so: a half-open connection.
   * - `cut`: the connection ends before it arrives.
   * - `refused`: the server says that it has not begun with it (GOAWAY, REFUSED_STREAM).
   */
  readonly request?: "lost" | "cut" | "refused";
  /** The same after the work. A {@link ForeignAnswer} takes the place of the server's. */
  readonly answer?: "lost" | "cut" | ForeignAnswer;
  /** The connection ends after so many chunks of the answer's body, 0 or more; in the middle of a packet. */
  readonly cutAfterChunks?: number;
  /** Bytes of the answer's body, above 0, that may wait for the client before the server has to. Default 65,536. */
  readonly windowBytes?: number;
  /**
   * A WebSocket with more bytes than these unsent says that its buffer is full, as it would be of values too large for a
   * test. Default: it says how much it is.
   */
  readonly roomBytes?: number;
  /** A WebSocket is half-open after so many packets from either side: nothing arrives, and nobody says so. */
  readonly silentAfterChunks?: number;
  /**
   * A copy arrives so many ms later, whatever became of the request itself: a proxy's or a browser's own new try.
   * Nobody hears the answer to it. With `request: "lost"` it is a request that is late.
   */
  readonly twinMs?: number;
}

/** What happened on the network, for timelines. */
export interface NetworkEvent {
  /**
   * `connects`: a client begins to connect for a request; `sent`: a request leaves its client, a WebSocket's at once; `arrived`: its server has it; `twin`: a late copy arrives; `answered`: the
   * server's answer leaves; `heard`: its headers are with the client; `failed`: the client learns of a fault; `opened`
   * and `closed`: a WebSocket at its client; `silent`: from here on it is half-open.
   */
  readonly kind:
    | "connects"
    | "sent"
    | "arrived"
    | "twin"
    | "answered"
    | "heard"
    | "failed"
    | "opened"
    | "closed"
    | "silent"
    | "started"
    | "crashed";
  /** The process that it happened to. */
  readonly where: string;
  readonly request?: SimulatedRequest;
  readonly status?: number;
  readonly header?: Headers | undefined;
  readonly text?: string;
}
