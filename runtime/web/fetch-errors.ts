/**
 * What fetch rejects with, in each engine's own words. They are texts for people, differ between versions,
 * and some hide the cause on purpose; so this list only makes a fault's text and kind better. Words that it
 * does not know are a fault too, and never an answer.
 */
import { ConnectionFault, type FaultKind } from "../base/connection-fault.ts";

/** Words that mean something, each with the engines that say so; what is not here is `unknown`. */
const recognisers: readonly (readonly [FaultKind, RegExp])[] = [
  // Engines that tell the cause come first: a message of theirs may also hold the vaguer words below.
  // Chromium's extensions, Deno, Bun, undici
  ["connect-refused", /ECONNREFUSED|connection ?refused/i],
  // undici
  ["connect-timeout", /CONNECT_TIMEOUT|Connect Timeout/i],
  // undici, Bun, Deno: names; Node, undici, Bun, Deno: TLS
  [
    "connect-failed",
    /ENOTFOUND|EAI_AGAIN|lookup address|dns error|certificate|CERT_|SELF_SIGNED|_TLS_|tls handshake/i,
  ],
  // Bun
  ["connect-failed", /Unable to connect/i],
  // undici
  ["cut", /UND_ERR_|other side closed|ECONNRESET|EPIPE|(Headers|Body) Timeout/i],
  // Bun, Deno, workerd
  [
    "cut",
    /closed unexpectedly|ConnectionClosed|error sending request|closed before message|reading a body|connection lost/i,
  ],
  // Safari
  ["cut", /connection was lost|appears to be offline|Could not connect|cannot parse response/i],
  // HTTP/2 in Chromium's extensions
  ["cut", /_PROTOCOL_ERROR|INCOMPLETE_CHUNKED/i],
];

/** The fault of a body that broke off: a cut in whatever words, since its answer had begun. */
export function bodyFault(origin: string, error: unknown): ConnectionFault {
  return new ConnectionFault("cut", `${origin} broke off its answer (${words(error)})`, {
    sent: true,
    cause: error,
  });
}

/**
 * The fault of a fetch that was rejected.
 *
 * `sent` is always true: no engine tells for certain that nothing left, and browsers send some requests again
 * by themselves.
 */
export function fetchFault(origin: string, error: unknown): ConnectionFault {
  const said = wordsOf(error);
  const found = recognisers.find(([, words]) => said.some((one) => words.test(one)));
  const kind = found?.[0] ?? "unknown";
  const hint =
    kind === "unknown"
      ? ". Offline, a server that is down, and one whose CORS does not allow this page all look like this"
      : "";
  return new ConnectionFault(kind, `${origin} gave no answer (${words(error)})${hint}`, {
    sent: true,
    cause: error,
  });
}

function words(error: unknown): string {
  return wordsOf(error).join(": ") || "no words";
}

/** The message and code of an error and of its causes: undici says "fetch failed" and why one level below. */
function wordsOf(error: unknown): string[] {
  const said: string[] = [];
  for (let at = error; at instanceof Error && said.length < 8; at = at.cause) {
    if (at.message !== "") said.push(at.message);
    if ("code" in at && typeof at.code === "string") said.push(at.code);
  }
  if (said.length === 0 && typeof error === "string") said.push(error);
  return said;
}
