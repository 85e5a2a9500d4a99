/**
 * The only file that knows Node's error codes and HTTP/2's: each becomes a `ConnectionFault` with the likely
 * mistake in its text.
 *
 * One list for each moment, since the same code means different things: before the connection stands
 * nothing was sent, after it the server may have received the request.
 */
import { constants } from "node:http2";
import { ConnectionFault, type FaultKind } from "../base/connection-fault.ts";

interface Recogniser {
  readonly codes: readonly (string | RegExp)[];
  readonly kind: FaultKind;
  /** What happened and what to look at, as the end of a sentence that begins with the server's address. */
  readonly text: string;
}

const notHttp2 =
  'does not speak HTTP/2. A server or proxy that speaks only HTTP/1.1 needs the option httpVersion: "1.1"';

/** Before the connection stands. A later entry matters only where no earlier one fits. */
const connecting: readonly Recogniser[] = [
  {
    codes: ["ETIMEDOUT", "ERR_SOCKET_CONNECTION_TIMEOUT"],
    kind: "connect-timeout",
    text: "did not answer in time. Check the address, and that no firewall drops the packets",
  },
  {
    codes: ["ECONNREFUSED"],
    kind: "connect-refused",
    text: "refused the connection",
  },
  {
    codes: ["ENOTFOUND"],
    kind: "connect-failed",
    text: "has a name that does not exist. Check the address, and that this machine is online",
  },
  {
    codes: ["EAI_AGAIN", "EAI_FAIL", "ESERVFAIL", "ETIMEOUT"],
    kind: "connect-failed",
    text: "has a name that could not be looked up. Is this machine online?",
  },
  {
    codes: ["EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "EADDRNOTAVAIL"],
    kind: "connect-failed",
    text: "cannot be reached over any network of this machine. Is it online, or is a VPN off?",
  },
  {
    codes: ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"],
    kind: "connect-failed",
    text: "has a certificate that is not valid now. Renew it, or set this machine's clock",
  },
  {
    codes: ["ERR_TLS_CERT_ALTNAME_INVALID"],
    kind: "connect-failed",
    text: "has a certificate for another name. Use the name in the certificate as the address",
  },
  {
    codes: [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "SELF_SIGNED_CERT_IN_CHAIN",
      /^UNABLE_TO_(GET_ISSUER|VERIFY)/,
      "CERT_UNTRUSTED",
    ],
    kind: "connect-failed",
    text: "has a certificate that this machine does not trust. Give its authority with tls: { ca }, or with NODE_EXTRA_CA_CERTS",
  },
  { codes: [/^CERT_/, /^CRL_/, "HOSTNAME_MISMATCH"], kind: "connect-failed", text: "has a bad certificate" },
  {
    codes: [
      "ERR_SSL_WRONG_VERSION_NUMBER",
      "ERR_SSL_PACKET_LENGTH_TOO_LONG",
      "ERR_SSL_HTTP_REQUEST",
      "ERR_SSL_RECORD_LAYER_FAILURE",
    ],
    kind: "connect-failed",
    text: "does not speak TLS. Is it http: in place of https:?",
  },
  {
    codes: ["ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL"],
    kind: "connect-failed",
    text: notHttp2,
  },
  { codes: [/^ERR_SSL_/, /^ERR_TLS_/, "EPROTO"], kind: "connect-failed", text: "failed the TLS handshake" },
  { codes: [/^ERR_HTTP2_/, /^NGHTTP2_/, /^HPE_/], kind: "connect-failed", text: notHttp2 },
  {
    codes: ["ECONNRESET", "EPIPE", "ECONNABORTED", "ERR_SOCKET_CLOSED"],
    kind: "connect-failed",
    text: "closed the connection before it was set up. Is something between, or is it TLS (https:) there?",
  },
  {
    codes: ["EMFILE", "ENFILE", "ENOBUFS"],
    kind: "connect-failed",
    text: "cannot be connected to: this machine has no free file or buffer. Raise the limit (ulimit -n)",
  },
];

/** With a request on its way. */
const underWay: readonly Recogniser[] = [
  {
    codes: ["ECONNRESET", "EPIPE", "ECONNABORTED", "ERR_SOCKET_CLOSED", "ERR_STREAM_PREMATURE_CLOSE"],
    kind: "cut",
    text: "closed the connection with the request under way",
  },
  {
    codes: ["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "EHOSTDOWN"],
    kind: "cut",
    text: "can no longer be reached over the network",
  },
  {
    codes: [/^HPE_/],
    kind: "not-our-answer",
    text: "answered in something that is not HTTP/1.1. A server of HTTP/2 needs the link without httpVersion",
  },
  {
    codes: [/^ERR_HTTP2_/, /^NGHTTP2_/, "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"],
    kind: "cut",
    text: "ended the HTTP/2 connection or stream with the request under way",
  },
  {
    codes: [/^ERR_SSL_/, "EPROTO"],
    kind: "cut",
    text: "broke the TLS connection with the request under way",
  },
];

/** The fault of a connection that did not come to stand: nothing of the request was sent. */
export function connectFault(origin: string, error: unknown): ConnectionFault {
  const found = worst(partsOf(error).map((part) => recognise(connecting, codeOf(part))));
  return build(origin, found ?? unknownOf("could not be connected to", "connect-failed"), error, false);
}

/** The fault of a connection that had no answer for the time that it may take. */
export function connectTimeout(origin: string, waitMs: number): ConnectionFault {
  return new ConnectionFault(
    "connect-timeout",
    `${origin} did not take a connection within ${waitMs} ms. Check the address, and that no firewall drops the packets`,
    { sent: false },
  );
}

/** The fault of a server that TLS agreed with another protocol with, or that closed before HTTP/2 began. */
export function notHttp2Fault(origin: string, cause?: unknown): ConnectionFault {
  return new ConnectionFault("connect-failed", `${origin} ${notHttp2}`, { sent: false, cause });
}

/** The fault of a request that the connection ended under. */
export function requestFault(origin: string, error: unknown): ConnectionFault {
  if (error instanceof ConnectionFault) return error;
  const found = worst(partsOf(error).map((part) => recognise(underWay, codeOf(part))));
  return build(origin, found ?? unknownOf("failed with the request under way", "unknown"), error, true);
}

const resetTexts: Readonly<Record<number, string>> = {
  [constants.NGHTTP2_NO_ERROR]: "ended the stream before its answer was complete",
  [constants.NGHTTP2_INTERNAL_ERROR]: "reset the stream after an internal error",
  [constants.NGHTTP2_CANCEL]: "cancelled the stream, or the connection ended",
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: "reset the stream since it gets too much at once",
  [constants.NGHTTP2_HTTP_1_1_REQUIRED]:
    'asks for HTTP/1.1 on this method. Give the link the option httpVersion: "1.1"',
};

const resetNames = new Map<number, string>(
  Object.entries(constants).flatMap(([name, value]): [number, string][] =>
    /^NGHTTP2_(NO|PROTOCOL|INTERNAL|FLOW_CONTROL|FRAME_SIZE|COMPRESSION|CONNECT)_ERROR$|^NGHTTP2_(SETTINGS_TIMEOUT|STREAM_CLOSED|REFUSED_STREAM|CANCEL|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/.test(
      name,
    ) && typeof value === "number"
      ? [[value, name.slice("NGHTTP2_".length)]]
      : [],
  ),
);

/**
 * The fault of a stream that the server ended with an HTTP/2 code. Only REFUSED_STREAM promises that nothing
 * was done, and it has a fault of its own (`refusedFault`).
 */
export function resetFault(origin: string, code: number, cause?: unknown): ConnectionFault {
  const name = resetNames.get(code) ?? `code ${code}`;
  const text = resetTexts[code] ?? "reset the stream";
  return new ConnectionFault("cut", `${origin} ${text} (${name})`, { sent: true, cause });
}

/** The fault of a request whose connection ended under it without a word. */
export function goneFault(origin: string, cause?: unknown): ConnectionFault {
  const text = `${origin} closed the connection with the request under way`;
  return new ConnectionFault("cut", text, { sent: true, cause });
}

/** The fault of a request that the server said it has not begun with, or that never left. */
export function refusedFault(origin: string, cause?: unknown): ConnectionFault {
  return new ConnectionFault("refused-stream", `${origin} did not take the request (REFUSED_STREAM)`, {
    sent: false,
    cause,
  });
}

/** The code of an error: Node's own, or the one of a cause. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return "";
}

/** Node tries several addresses of a name and then throws all their errors as one. */
function partsOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError && error.errors.length > 0 ? (error.errors as unknown[]) : [error];
}

function recognise(list: readonly Recogniser[], code: string): Recogniser | undefined {
  return list.find(({ codes }) =>
    codes.some((known) => (typeof known === "string" ? known === code : known.test(code))),
  );
}

/**
 * Of several addresses, the one that says most: a silent one may still be the server, a refusal proves that
 * the machine is there, and an unreachable one is often only an IPv6 address without IPv6.
 */
function worst(found: readonly (Recogniser | undefined)[]): Recogniser | undefined {
  const order: readonly FaultKind[] = ["connect-timeout", "connect-refused"];
  for (const kind of order) {
    const first = found.find((one) => one?.kind === kind);
    if (first !== undefined) return first;
  }
  return found.find((one) => one !== undefined);
}

function unknownOf(text: string, kind: FaultKind): Recogniser {
  return { codes: [], kind, text };
}

function build(origin: string, { kind, text }: Recogniser, error: unknown, sent: boolean): ConnectionFault {
  const code = codeOf(error);
  const said = code === "" ? (error instanceof Error ? error.message : "no error was given") : code;
  return new ConnectionFault(kind, `${origin} ${text} (${said})`, { sent, cause: error });
}
