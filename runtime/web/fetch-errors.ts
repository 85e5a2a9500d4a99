/**
 * What fetch rejects with, in each engine's own words. They are texts for people, differ between versions,
 * and some hide the cause on purpose; so this list only makes a fault's text and kind better. Words that it
 * does not know are a fault too, and never an answer.
 */
import { ConnectionFault, type FaultKind } from "../base/connection-fault.ts";

interface Recogniser {
  /** Which engines say so. */
  readonly engine: string;
  readonly words: RegExp;
  readonly kind: FaultKind;
}

const recognisers: readonly Recogniser[] = [
  // Engines that tell the cause come first: a message of theirs may also hold the vaguer words below.
  {
    engine: "Chromium (extension), Deno, Bun, undici",
    words: /ECONNREFUSED|ConnectionRefused|connection refused/i,
    kind: "connect-refused",
  },
  {
    engine: "Bun",
    words: /Unable to connect\. Is the computer able to access the url/i,
    kind: "connect-failed",
  },
  { engine: "undici", words: /UND_ERR_CONNECT_TIMEOUT|Connect Timeout Error/i, kind: "connect-timeout" },
  {
    engine: "undici, Bun, Deno",
    words: /ENOTFOUND|EAI_AGAIN|failed to lookup address|dns error/i,
    kind: "connect-failed",
  },
  {
    engine: "Node, undici, Bun, Deno",
    words: /certificate|CERT_|SELF_SIGNED|ERR_TLS_|tls handshake/i,
    kind: "connect-failed",
  },
  { engine: "undici", words: /UND_ERR_SOCKET|other side closed|ECONNRESET|EPIPE/i, kind: "cut" },
  { engine: "undici", words: /UND_ERR_(HEADERS|BODY)_TIMEOUT|(Headers|Body) Timeout Error/i, kind: "cut" },
  { engine: "undici, after an answer began", words: /^terminated$/i, kind: "cut" },
  { engine: "Bun", words: /The socket connection was closed unexpectedly|ConnectionClosed/i, kind: "cut" },
  {
    engine: "Deno",
    words: /error sending request|connection closed before message completed|error reading a body/i,
    kind: "cut",
  },
  { engine: "workerd", words: /Network connection lost/i, kind: "cut" },
  { engine: "workerd", words: /internal error; reference =|Worker exceeded/i, kind: "unknown" },
  {
    engine: "Safari",
    words:
      /The network connection was lost|The Internet connection appears to be offline|Could not connect to the server|cannot parse response/i,
    kind: "cut",
  },
  { engine: "Safari", words: /^Load failed$/i, kind: "unknown" },
  { engine: "Firefox", words: /NetworkError when attempting to fetch resource/i, kind: "unknown" },
  { engine: "Firefox, after an answer began", words: /Error in input stream/i, kind: "cut" },
  {
    engine: "Chromium, after an answer began",
    words: /^network error$|ERR_(HTTP2|QUIC)_PROTOCOL_ERROR|ERR_INCOMPLETE_CHUNKED/i,
    kind: "cut",
  },
  {
    engine: "Chromium, undici, React Native",
    words: /^Failed to fetch|^fetch failed|^Network request failed/i,
    kind: "unknown",
  },
];

/**
 * The fault of a fetch that was rejected, or of a body that broke off.
 *
 * `sent` is always true: no engine tells for certain that nothing left, and browsers send some requests again
 * by themselves.
 */
export function fetchFault(origin: string, error: unknown): ConnectionFault {
  const said = wordsOf(error);
  const found = recognisers.find(({ words }) => said.some((one) => words.test(one)));
  const kind = found?.kind ?? "unknown";
  const hint =
    kind === "unknown"
      ? ". Offline, a server that is down, and one whose CORS does not allow this page all look like this"
      : "";
  return new ConnectionFault(kind, `${origin} gave no answer (${said.join(": ") || "no words"})${hint}`, {
    sent: true,
    cause: error,
  });
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
