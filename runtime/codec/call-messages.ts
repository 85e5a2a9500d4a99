import type { Mark } from "../../gen/holdfast/link/v1/link_pb.ts";

/** What the first try of a call says beside its request; a field of `holdfast.link.v1.Call` or its stamp each. */
export interface FirstCall {
  readonly id: number;
  readonly method: number;
  /** 0: without end. */
  readonly timeoutMs: number;
  /** Empty: it has no stamp, and what follows here does not count. */
  readonly callId: string;
  readonly seq: number;
  readonly settled: number;
  /** Undefined: the server's time is not known, and it is sent right now. */
  readonly serverMs: number | undefined;
}

/** What the result of a call says beside its reply; a field of `holdfast.link.v1.Result` each. */
export interface Reply {
  readonly id: number;
  readonly mark: Mark;
  readonly repeat: boolean;
  /** Empty: welcome's. */
  readonly caller: string;
}
