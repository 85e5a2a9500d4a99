/**
 * What clients noted against what is there, when everybody has come to rest and every outbox is empty.
 *
 * - `put`, and `write` of the engine: a command that its client saw succeed is there once, under the row or place
 *   that its reply named; a refused one is not there; no other is there twice.
 * - `pay`: seen to succeed, it is there once; reported unknown or never answered, once at most.
 * - `send`: as `put`, since its handler looks for itself.
 * - `early` and `late`: as `put`. One that its client was told to wait is there once, unless its end was reported.
 * - Every call that was seen in an outbox is there once, unless its end was reported.
 */

/** How a command stands in its client's notes; `open`: the client was killed before it had an answer. */
export interface Noted {
  readonly outcome: (typeof known)[number] | "open" | "other";
  readonly detail: string;
}

const known = ["ran", "refused", "not-run", "unknown", "in-outbox"] as const;

/** What all clients noted. */
export interface Notes {
  readonly commands: ReadonlyMap<string, Noted>;
  /** The IDs of calls that were seen in an outbox. */
  readonly stored: ReadonlySet<string>;
  /** How calls ended that left an outbox with nobody to wait for them, by call ID. */
  readonly settled: ReadonlyMap<string, string>;
}

/** Reads the notes of all clients. A line that a kill has cut off says nothing. */
export function readNotes(texts: readonly string[]): Notes {
  const commands = new Map<string, Noted>();
  const stored = new Set<string>();
  const settled = new Map<string, string>();
  for (const line of texts.flatMap((text) => text.split("\n").slice(0, -1))) {
    const [first = "", second = "", ...rest] = line.split(" ");
    if (first === "began") commands.set(second, { outcome: "open", detail: "" });
    else if (first === "stored") stored.add(second);
    else if (first === "settled") settled.set(second, rest[0] ?? "");
    else commands.set(first, { outcome: outcomeOf(second), detail: rest.join(" ") });
  }
  return { commands, stored, settled };
}

function outcomeOf(word: string): Noted["outcome"] {
  return known.find((outcome) => outcome === word) ?? "other";
}

export interface Found {
  /** The rows of each key in the server's table, and its places in the engine's log. */
  readonly rows: ReadonlyMap<string, readonly number[]>;
  /** How often each call has written a row of the table. */
  readonly calls: ReadonlyMap<string, number>;
  /** How often each key is outside. */
  readonly outside: ReadonlyMap<string, number>;
}

export interface Verdict {
  /** Each broken promise as a sentence. */
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<Noted["outcome"], number>>;
  /** Calls that were seen in an outbox. */
  readonly storedCount: number;
}

export function judge({ commands, stored, settled }: Notes, found: Found): Verdict {
  const counts = { ran: 0, refused: 0, "not-run": 0, unknown: 0, "in-outbox": 0, open: 0, other: 0 };
  const faults: string[] = [];
  /** Calls whose program was told that they failed: they need not be there. */
  const failed = new Set([...settled].filter(([, outcome]) => outcome !== "ran").map(([call]) => call));
  for (const [key, note] of commands) {
    counts[note.outcome] += 1;
    const call = callOf(note);
    if (call !== undefined && note.outcome !== "in-outbox") failed.add(call);
    const fault = faultOf(key, note, found, call !== undefined && failed.has(call));
    if (fault !== undefined) faults.push(`${key} (${note.outcome} ${note.detail}): ${fault}`);
  }
  for (const key of [...found.rows.keys(), ...found.outside.keys()]) {
    if (!commands.has(key)) faults.push(`${key} is there, and nobody sent it`);
  }
  for (const call of new Set([...stored, ...settled.keys()])) {
    const count = found.calls.get(call) ?? 0;
    if (count > 1) faults.push(`the call ${call} of an outbox is there ${count} times`);
    if (count === 0 && !failed.has(call)) faults.push(`the call ${call} of an outbox is not there`);
    if (count > 0 && settled.has(call) && !mayBeThere(settled.get(call))) {
      faults.push(`the call ${call} of an outbox was reported ${settled.get(call) ?? ""}, and is there`);
    }
  }
  return { faults, counts, storedCount: stored.size };
}

function mayBeThere(outcome: string | undefined): boolean {
  return outcome === "ran" || outcome === "unknown" || outcome === "expired";
}

/** The call of a command that did not succeed: the first word that its client noted. */
function callOf({ outcome, detail }: Noted): string | undefined {
  return outcome === "ran" || outcome === "open" ? undefined : detail.split(" ")[0];
}

const tableKinds = ["put:", "refuse:", "write:", "deny:", "early:", "late:"];
const refusedKinds = ["refuse:", "deny:"];

/** @param reported - its outbox has reported that it failed. */
function faultOf(
  key: string,
  { outcome, detail }: Noted,
  { rows, outside }: Found,
  reported: boolean,
): string | undefined {
  const inTable = tableKinds.some((kind) => key.startsWith(kind));
  const ofKey = rows.get(key) ?? [];
  const count = inTable ? ofKey.length : (outside.get(key) ?? 0);
  if (count > 1) return `it is there ${count} times`;
  if (outcome === "other") return "its client got an answer that it should not";
  if (refusedKinds.some((kind) => key.startsWith(kind)) && (count > 0 || outcome === "ran")) {
    return "it was to be refused, and is there";
  }
  if (outcome === "ran" && count === 0) return "it is not there";
  if (outcome === "in-outbox" && count === 0 && !reported) return "it waited, and is not there";
  if (outcome === "ran" && inTable && String(ofKey[0]) !== detail) return `its row is ${String(ofKey[0])}`;
  if ((outcome === "refused" || outcome === "not-run") && count > 0) return "it is there";
  return undefined;
}
