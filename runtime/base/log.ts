/**
 * Where a program hears of what it cannot be told by a return value. Nothing is logged unless one is given.
 * What is passed never holds a token, a body or a whole call ID.
 */
export interface Log {
  /** Worth knowing when one looks into something. */
  info(text: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Somebody should look. */
  warn(text: string, fields?: Readonly<Record<string, unknown>>): void;
  error(text: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Says nothing. */
export const silentLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Writes to the console, one line an entry. */
export const consoleLog: Log = {
  info: (text, fields) => console.info(text, ...(fields === undefined ? [] : [fields])),
  warn: (text, fields) => console.warn(text, ...(fields === undefined ? [] : [fields])),
  error: (text, fields) => console.error(text, ...(fields === undefined ? [] : [fields])),
};

/** A call ID as logs may show it: its first eight characters find it, and do not give it away. */
export function shortId(id: string): string {
  return id.length <= 8 ? id : `${id.slice(0, 8)}…`;
}
