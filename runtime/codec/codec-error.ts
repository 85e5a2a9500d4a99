/**
 * A message that a codec refuses, on the way out or in. Codecs throw nothing else on account of their
 * input; callers turn it into their own error.
 *
 * The path is built from the inside out: who refuses a value knows only the value, and each container
 * that the error passes puts its own step before it.
 */
export class CodecError extends Error {
  /** Where the value lies, such as `board.v1.Item.labels["x"].n`; empty when the packet itself is refused. */
  readonly path: string;
  /** What is wrong and what was expected, without the path. */
  readonly problem: string;

  constructor(problem: string, path = "") {
    super(path === "" ? problem : `${path}: ${problem}`);
    this.name = "CodecError";
    this.problem = problem;
    this.path = path;
  }
}

/** The same error, seen from one container further out; whatever else was thrown stays as it is. */
export function within(error: unknown, step: string): unknown {
  return error instanceof CodecError ? new CodecError(error.problem, step + error.path) : error;
}

/** A path step for an entry of a map. Keys come from the peer, so a long one is cut. */
export function entryStep(key: string): string {
  return `[${JSON.stringify(key.length > keyCharsMax ? `${key.slice(0, keyCharsMax)}…` : key)}]`;
}

/** What a value is, in few words that are safe to log: never the text or the bytes themselves. */
export function named(value: unknown): string {
  switch (typeof value) {
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return bigintText(value);
    case "boolean":
      return String(value);
    case "string":
      return `a string of ${value.length} characters`;
    case "object":
      return value === null ? "null" : objectKind(value);
    default:
      return typeof value;
  }
}

const keyCharsMax = 40;

function bigintText(value: bigint): string {
  const text = value.toString();
  return text.length > keyCharsMax ? `an integer of ${text.length} digits` : text;
}

function objectKind(value: object): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Uint8Array) return "bytes";
  return "$typeName" in value && typeof value.$typeName === "string" ? `a ${value.$typeName}` : "an object";
}
