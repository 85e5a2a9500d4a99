/**
 * What clients noted against what is there, when everybody has come to rest.
 *
 * - `put`: a command that its client saw succeed is there once, under the row that its reply named; a refused one
 *   is not there; no other is there twice.
 * - `pay`: seen to succeed, it is there once; reported unknown or never answered, once at most.
 * - `send`: as `put`, since its handler looks for itself.
 */

/** How a command stands in its client's notes; `open`: the client was killed before it had an answer. */
export interface Noted {
  readonly outcome: "ran" | "refused" | "not-run" | "unknown" | "open" | "other";
  readonly detail: string;
}

/** Reads the notes of all clients. A line that a kill has cut off says nothing. */
export function readNotes(texts: readonly string[]): Map<string, Noted> {
  const noted = new Map<string, Noted>();
  for (const line of texts.flatMap((text) => text.split("\n").slice(0, -1))) {
    const [first = "", second = "", ...rest] = line.split(" ");
    if (first === "began") noted.set(second, { outcome: "open", detail: "" });
    else noted.set(first, { outcome: outcomeOf(second), detail: rest.join(" ") });
  }
  return noted;
}

function outcomeOf(word: string): Noted["outcome"] {
  const known = ["ran", "refused", "not-run", "unknown"] as const;
  return known.find((outcome) => outcome === word) ?? "other";
}

export interface Found {
  /** The rows of each key in the server's table. */
  readonly rows: ReadonlyMap<string, readonly number[]>;
  /** How often each key is outside. */
  readonly outside: ReadonlyMap<string, number>;
}

export interface Verdict {
  /** Each broken promise as a sentence. */
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<Noted["outcome"], number>>;
}

export function judge(noted: ReadonlyMap<string, Noted>, found: Found): Verdict {
  const counts = { ran: 0, refused: 0, "not-run": 0, unknown: 0, open: 0, other: 0 };
  const faults: string[] = [];
  for (const [key, note] of noted) {
    counts[note.outcome] += 1;
    const fault = faultOf(key, note, found);
    if (fault !== undefined) faults.push(`${key} (${note.outcome} ${note.detail}): ${fault}`);
  }
  for (const key of [...found.rows.keys(), ...found.outside.keys()]) {
    if (!noted.has(key)) faults.push(`${key} is there, and nobody sent it`);
  }
  return { faults, counts };
}

function faultOf(key: string, { outcome, detail }: Noted, { rows, outside }: Found): string | undefined {
  const inTable = key.startsWith("put:") || key.startsWith("refuse:");
  const ofKey = rows.get(key) ?? [];
  const count = inTable ? ofKey.length : (outside.get(key) ?? 0);
  if (count > 1) return `it is there ${count} times`;
  if (outcome === "other") return "its client got an answer that it should not";
  if (key.startsWith("refuse:") && (count > 0 || outcome === "ran"))
    return "it was to be refused, and is there";
  if (outcome === "ran" && count === 0) return "it is not there";
  if (outcome === "ran" && inTable && String(ofKey[0]) !== detail) return `its row is ${String(ofKey[0])}`;
  if ((outcome === "refused" || outcome === "not-run") && count > 0) return "it is there";
  return undefined;
}
