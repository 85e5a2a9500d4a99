/**
 * The headers of holdfast over HTTP, also fields of the same meaning on wires: their names, and how the ones
 * with an inner structure are written and read.
 *
 * Source: design "Wire: Services"; the values follow RFC 9651 (structured fields) where they have parts.
 */
export const headerNames = {
  /** A once-command's ID, lane and first sending. */
  call: "holdfast-call",
  /** The caller tag that an earlier answer to this call carried. */
  for: "holdfast-for",
  /** The secret that tells one anonymous caller from another. */
  anon: "holdfast-anon",
  session: "holdfast-session",
  build: "holdfast-build",
  /** The params that name a held object. */
  params: "holdfast-params",
  /** On every answer of a holdfast server. */
  server: "holdfast-server",
  /** What an answer says of a once-command. */
  settled: "holdfast-settled",
  /** `1` on an answer that was kept. */
  repeat: "holdfast-repeat",
  /** The caller's opaque tag. */
  caller: "holdfast-caller",
  /** The server's time in ms since 1970. */
  now: "holdfast-now",
  /** `never`: the server has too much work and asks for no new try. */
  retry: "holdfast-retry",
} as const;

/** A tag that must be the caller's own; without this, one that the server cannot compare says nothing. */
export function surely(tag: string): string {
  return tag.endsWith("!") ? tag : `${tag}!`;
}

/** What a browser's preflight must allow, and its answer expose. */
export const requestHeaderNames = ["call", "for", "anon", "session", "build", "params"].map(
  (name) => headerNames[name as keyof typeof headerNames],
);
export const responseHeaderNames = ["server", "settled", "repeat", "caller", "now", "retry"].map(
  (name) => headerNames[name as keyof typeof headerNames],
);

/** The value of `holdfast-call`. */
export interface CallHeader {
  /** The call's ID: 16 to 128 characters of base64url. */
  readonly id: string;
  /** Where a holdfast client stands; undefined for a plain client, which sends the ID alone. */
  readonly lane: LanePosition | undefined;
}

/** A command's place in its lane, and when it was first sent. */
export interface LanePosition {
  /** The lane: one life of a link or of an outbox. Same alphabet as an ID. */
  readonly lane: string;
  /** The command's number in the lane: 1, 2, 3 … */
  readonly seq: number;
  /** All numbers up to this one have their outcome in the client's hands. Below `seq`. */
  readonly settled: number;
  /** Which try this is: 1, 2, 3 … Above 1: it may have been sent before. */
  readonly tries: number;
  /** When the call was first sent: by the server's clock, or how long ago where the client knows no such time. */
  readonly firstSent: { readonly serverMs: number } | { readonly agoMs: number };
}

const idPattern = /^[A-Za-z0-9_-]{16,128}$/;

/** Whether a text may be an ID of a call, a lane or an anonymous caller: enough of it not to be guessed. */
export function isId(text: string): boolean {
  return idPattern.test(text);
}

/** Writes `holdfast-call`. */
export function formatCallHeader(header: CallHeader): string {
  const at = header.lane;
  if (at === undefined) return `"${header.id}"`;
  const first =
    "serverMs" in at.firstSent
      ? `f=${Math.floor(at.firstSent.serverMs)}`
      : `a=${Math.ceil(at.firstSent.agoMs)}`;
  return `"${header.id}";l="${at.lane}";s=${at.seq};u=${at.settled};t=${at.tries};${first}`;
}

const callPattern =
  /^"([A-Za-z0-9_-]{16,128})";l="([A-Za-z0-9_-]{16,128})";s=(\d{1,15});u=(\d{1,15});t=(\d{1,15});([fa])=(\d{1,15})$/;

/** Reads `holdfast-call`: whole, a quoted ID, or a bare one; undefined for anything else. */
export function parseCallHeader(value: string): CallHeader | undefined {
  const bare = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  if (isId(bare)) return { id: bare, lane: undefined };
  const match = callPattern.exec(value);
  if (match === null) return undefined;
  const [, id = "", lane = "", seq, settled, tries, kind, at] = match;
  const position = {
    lane,
    seq: Number(seq),
    settled: Number(settled),
    tries: Number(tries),
    firstSent: kind === "f" ? { serverMs: Number(at) } : { agoMs: Number(at) },
  };
  return position.seq >= 1 && position.settled < position.seq ? { id, lane: position } : undefined;
}

/** Writes `holdfast-server`: the protocol's version, and the build of the server if it has one. */
export function formatServerHeader(build: string | undefined): string {
  return build === undefined ? "1" : `1;build="${build}"`;
}

/** What an answer carried, before its message and after it. */
export function joined({
  header,
  trailer,
}: {
  readonly header: Headers;
  readonly trailer: Headers;
}): Headers {
  if (trailer.keys().next().done === true) return header;
  const all = new Headers(header);
  trailer.forEach((value, key) => all.set(key, value));
  return all;
}

/** What a link says of itself with every request. */
export interface Introduction {
  /** The headers that name its program and session. */
  readonly identity: Readonly<Record<string, string>>;
  /** Tells it from other anonymous links, so that all its requests are one caller's, and of one session. */
  readonly anonymous: string;
  readonly server: "holdfast" | "plain";
}

/**
 * What a try says of its program, its link and who is signed in. A sign-in of the call's own is the call's.
 *
 * @param signedIn - the server knows the sign-in already: a wire's.
 */
export function tryHeaders(
  given: HeadersInit | undefined,
  { identity, anonymous, server }: Introduction,
  token: string | undefined,
  signedIn = false,
): Headers {
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(identity)) headers.set(name, value);
  if (token === undefined) {
    if (server === "holdfast") headers.set(headerNames.anon, anonymous);
  } else if (!signedIn && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
  return headers;
}
