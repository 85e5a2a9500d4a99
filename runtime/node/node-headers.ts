/** Headers between the web's form and Node's. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** What HTTP allows in a value: tab, and printable bytes. Anything else could end the header. */
const fieldValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Belong to one connection of HTTP/1.1, and make an HTTP/2 request malformed. */
const ofOneConnection = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The headers of a request.
 *
 * @throws TypeError for a value with a control character: it could smuggle in another header, and no new
 * try mends it.
 */
export function toNodeHeaders(headers: Headers): OutgoingHttpHeaders {
  const node: OutgoingHttpHeaders = { "user-agent": "holdfast" };
  for (const [name, value] of headers) {
    if (ofOneConnection.has(name)) continue;
    if (!fieldValue.test(value)) {
      throw new TypeError(
        `the request header "${name}" has a value with a control character or one beyond Latin-1; encode it, as base64url or with encodeURIComponent`,
      );
    }
    node[name] = value;
  }
  return node;
}

/** The headers of an answer, without HTTP/2's own. A value that HTTP does not allow is left out. */
export function fromNodeHeaders(node: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(node)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      try {
        headers.append(name, one);
      } catch {
        // Headers refuses what it cannot hold; the peer's bad header must not fail the program.
      }
    }
  }
  return headers;
}
