/** One session, as the server knows it. */
import type { Message } from "@bufbuild/protobuf";
import type { Caller } from "../../runtime/base/handlers.ts";
import type { SessionKey } from "./open-connections.ts";
import type { SessionState } from "./session-state.ts";

/** Who gives a sign of life. */
export interface SessionGuest extends SessionKey {
  readonly caller: Caller;
  /** Whose sessions are counted together. */
  readonly quota: string;
}

/** A client's life on the server, as a program sees it. */
export interface SessionInfo {
  readonly caller: Caller;
  /** The client's name for it: `session` of its link. */
  readonly name: string;
  /** `quiet`: signs of life are missing, for more than a third of `gone_after`. */
  readonly state: "present" | "quiet";
  /** Ms since 1970 of its first sign of life. */
  readonly beganAtMs: number;
  /** Ms since 1970 of its newest call or heartbeat; after a start of the server and before the first, of the start. */
  readonly lastSeenMs: number;
  /** The request of its newest heartbeat; undefined: this process had none yet. */
  readonly fact: Message | undefined;
  /** Streams that it has open. They are no sign of life. */
  readonly streamCount: number;
}

/** Whether the store knows of a session: not at all, on the way, or since when it does. */
export type Kept = "no" | "begun" | "yes";

/** What a session begins with. */
export interface SessionInit {
  readonly guest: SessionGuest;
  readonly id: string;
  readonly kept: Kept;
  readonly beganAtMs: number;
}

export class Session {
  guest: SessionGuest;
  /** Tells one life of a session from the next with the same name. */
  readonly id: string;
  readonly beganAtMs: number;
  kept: Kept;
  state: SessionState;
  lastSeenAtMs: number;
  /** Of the heartbeat that it gives; undefined: the server's own. */
  goneAfterMs: number | undefined;
  fact: Message | undefined;
  /** Resolves when what is done about its end is over. */
  ending: Promise<void> | undefined;

  constructor(init: SessionInit, upMs: number, nowMs: number) {
    this.guest = init.guest;
    this.id = init.id;
    this.kept = init.kept;
    this.beganAtMs = init.beganAtMs;
    this.lastSeenAtMs = nowMs;
    this.state = { kind: "present", lastSeenMs: upMs };
  }
}
