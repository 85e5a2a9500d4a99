/** What the board says in a terminal. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { OutboxItem, Settlement } from "holdfast";
import {
  type Ask,
  type ChatResponse,
  Deed,
  type Item,
  ItemState,
  type Presence,
  type TailResponse,
} from "./gen/board/v1/board_pb.ts";

const states = new Map<ItemState, string>([
  [ItemState.OPEN, "open"],
  [ItemState.CLAIMED, "claimed"],
  [ItemState.CLOSED, "closed"],
]);

const deeds = new Map<Deed, string>([
  [Deed.POSTED, "posted"],
  [Deed.CLAIMED, "claimed"],
  [Deed.RELEASED, "released"],
  [Deed.CLOSED, "closed"],
  [Deed.SAID, "said of"],
]);

/** Other people's words without what would steer the terminal. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "·");
}

export function itemLine(item: Item): string {
  const holder = item.heldBy === "" ? "" : ` by ${plain(item.heldBy)}`;
  const typing = item.typing === "" ? "" : ` (${plain(item.typing)} is typing)`;
  const state = `${states.get(item.state) ?? ""}${holder}`;
  return `${item.id.padEnd(10)} ${state.padEnd(20)} ${plain(item.title)}${typing}`;
}

export function happeningLine({ at, by, deed, item, text }: TailResponse): string {
  const words = text === "" ? "" : `: ${plain(text)}`;
  const title = text === "" ? `  ${plain(item?.title ?? "")}` : "";
  return `${clockTime(at)}  ${plain(by)} ${deeds.get(deed) ?? "did something to"} ${item?.id ?? ""}${words}${title}`;
}

export function sayingLine({ at, by, text }: ChatResponse): string {
  return `${clockTime(at)}  ${plain(by)}: ${plain(text)}`;
}

export function askLine({ id, by }: Ask): string {
  return `${plain(by)} asks for news of ${id}`;
}

export function presenceLine({ by, doing, lastSeen, quiet, streamCount }: Presence, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - msOf(lastSeen)) / 1_000));
  const seen = quiet ? `quiet for ${seconds} s` : `seen ${seconds} s ago`;
  const streams = streamCount === 1 ? "1 stream" : `${streamCount} streams`;
  return `${plain(by).padEnd(12)} ${plain(doing).padEnd(18)} ${seen.padEnd(16)} ${streams}`;
}

export function waitingLine({ callId, method, madeAtMs, mayHaveRun }: OutboxItem): string {
  return `${callId}  ${new Date(madeAtMs).toISOString()}  ${method}${mayHaveRun ? "  (may have run)" : ""}`;
}

/** A command of an earlier run has left the outbox; undefined: a person took it out, and knows. */
export function settledLine(settlement: Settlement): string | undefined {
  const { method, callId } = settlement;
  if (settlement.kind === "failure" && settlement.outcome === "dropped") return undefined;
  const end = settlement.kind === "reply" ? "done" : `${settlement.outcome}: ${settlement.error.rawMessage}`;
  return `outbox: ${method} ${callId} ${end}`;
}

function msOf(at: Timestamp | undefined): number {
  return at === undefined ? 0 : timestampDate(at).getTime();
}

function clockTime(at: Timestamp | undefined): string {
  return new Date(msOf(at)).toTimeString().slice(0, 8);
}
