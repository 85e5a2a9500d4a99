/**
 * What a peer can make grow, each with a bound. A breach is an error to that peer alone.
 *
 * Source: design "Quality: Security".
 */
export interface Limits {
  /** Bytes of one request as the server reads it, after decompression. Default 4 MiB. */
  readonly requestBytesMost: number;
  /** Bytes of one reply. Default 4 MiB. */
  readonly replyBytesMost: number;
  /** Bytes of a reply that the journal keeps. Default 1 MiB. */
  readonly keptReplyBytesMost: number;
  /** Bytes of a message or of a detail in a kept refusal; the rest is cut off. Default 1 KiB. */
  readonly keptRefusalBytesMost: number;
  /** Calls whose handlers run for one caller at once. Default 64. */
  readonly runningPerCallerMost: number;
  /** Calls of one caller that wait for their turn. Default 2,048. */
  readonly waitingPerCallerMost: number;
  /** Calls whose handlers run at once, of all callers. Default 1,024. */
  readonly runningMost: number;
  /** Calls of all callers that wait for their turn. Default 4,096: two callers at their limit. */
  readonly waitingMost: number;
  /**
   * Sessions of one caller, of anonymous clients those of one address, that the server looks after. Beyond it calls
   * go on, and heartbeats of new sessions are refused. Default 1,024: a script that runs five short programs a second.
   */
  readonly sessionsPerCallerMost: number;
  /** The same of all callers. Each costs about 1 KiB and its newest heartbeat. Default 65,536. */
  readonly sessionsMost: number;
  /** Bytes of a heartbeat's request, which the server holds as long as its session lives. Default 16 KiB. */
  readonly heartbeatBytesMost: number;
  /** Wires of one caller, of anonymous clients those of one address. Default 64. */
  readonly wiresPerCallerMost: number;
  /** Wires of one address that have not said who they are. Default 64. */
  readonly greetingsPerAddressMost: number;
  /** HTTP/2 streams of one connection at once. Default 128. */
  readonly streamsPerConnectionMost: number;
  /** Streams of one HTTP/2 connection that its client reset inside 10 s before it is closed. Default 100. */
  readonly resetsPerConnectionMost: number;
  /** Bytes of all headers of a request. Default 16 KiB. */
  readonly headerBytesMost: number;
  /** Header lines of a request. Default 64. */
  readonly headerCountMost: number;
  /** Ms from a connection's start, or a request's, to the end of its headers. Default 10 s. */
  readonly headersWaitMs: number;
  /** Ms for a whole HTTP/1.1 request, and between two pieces of an HTTP/2 request's body. Default 30 s. */
  readonly bodyWaitMs: number;
  /** Ms that an idle HTTP/1.1 connection is kept. Default 75 s, above the 60 s of common balancers. */
  readonly keepAliveMs: number;
  /** Ms that an HTTP/2 connection without a stream is kept. Default 15 min. */
  readonly idleConnectionMs: number;
}

export const defaultLimits: Limits = {
  requestBytesMost: 4 * 1_048_576,
  replyBytesMost: 4 * 1_048_576,
  keptReplyBytesMost: 1_048_576,
  keptRefusalBytesMost: 1_024,
  runningPerCallerMost: 64,
  waitingPerCallerMost: 2_048,
  runningMost: 1_024,
  waitingMost: 4_096,
  sessionsPerCallerMost: 1_024,
  sessionsMost: 65_536,
  heartbeatBytesMost: 16_384,
  wiresPerCallerMost: 64,
  greetingsPerAddressMost: 64,
  streamsPerConnectionMost: 128,
  resetsPerConnectionMost: 100,
  headerBytesMost: 16_384,
  headerCountMost: 64,
  headersWaitMs: 10_000,
  bodyWaitMs: 30_000,
  keepAliveMs: 75_000,
  idleConnectionMs: 15 * 60_000,
};
