/** What a notebook says in a terminal. */
import type { ReferenceState } from "holdfast";
import type { EntryList } from "./gen/notebook/v1/notebook_pb.ts";

/** Other people's words without what would steer the terminal. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "·");
}

export function entryLines({ entries }: EntryList): string[] {
  return entries.map(({ id, text }) => `${String(id).padStart(3)}  ${plain(text)}`);
}

/** The whole list in one line. */
export function listLine({ entries }: EntryList): string {
  return entries.length === 0 ? "(empty)" : entries.map(({ id, text }) => `${id} ${plain(text)}`).join(", ");
}

export function stateLine(state: ReferenceState): string {
  return state.kind === "failed" ? `failed: ${state.cause.rawMessage}` : state.kind;
}
