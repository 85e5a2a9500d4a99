/**
 * The names of what an outbox has in its store. An entry's name is its place: 15 digits that grow, and its call
 * ID. A note of how one ended starts with a word, so that no entry's name is one.
 */
const entryPattern = /^(\d{15})-([A-Za-z0-9_-]{16,128})$/;
const notePattern = /^ended-(\d{15})-([A-Za-z0-9_-]{16,128})$/;

const digits = 15;

/** @param place - a wall time in ms, or what keeps the order where that clock was set back. */
export function entryName(place: number, callId: string): string {
  return `${String(place).padStart(digits, "0")}-${callId}`;
}

export function noteName(endedAtMs: number, callId: string): string {
  return `ended-${String(Math.max(0, Math.floor(endedAtMs))).padStart(digits, "0")}-${callId}`;
}

export type Named =
  | { readonly kind: "entry"; readonly place: number; readonly callId: string }
  | { readonly kind: "note"; readonly endedAtMs: number; readonly callId: string }
  | { readonly kind: "foreign" };

/** What a name stands for. */
export function readName(name: string): Named {
  const [, place, entryId] = entryPattern.exec(name) ?? [];
  if (place !== undefined && entryId !== undefined) {
    return { kind: "entry", place: Number(place), callId: entryId };
  }
  const [, endedAt, noteId] = notePattern.exec(name) ?? [];
  if (endedAt !== undefined && noteId !== undefined) {
    return { kind: "note", endedAtMs: Number(endedAt), callId: noteId };
  }
  return { kind: "foreign" };
}
