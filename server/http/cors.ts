/**
 * Pages of other origins: answers a browser's preflight, and lets a page read our response headers. Only the
 * origins that the server names may call it; credentials of the browser (cookies) are never allowed, since
 * sign-in goes in a header.
 */
import { cors as connectCors } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { HeaderLookup } from "./request-head.ts";
import { requestHeaderNames, responseHeaderNames } from "../../runtime/call/headers.ts";

export interface CorsOptions {
  /** Origins as browsers send them, such as "https://board.example.com"; "*" for every page. */
  readonly origins: readonly string[] | "*";
  /** Further request headers that pages may send, such as those of an `authenticate` of one's own. */
  readonly requestHeaders?: readonly string[];
  /** Further response headers that pages may read. */
  readonly responseHeaders?: readonly string[];
}

/** What the rest of the server needs of it. */
export interface Cors {
  /** The answer to a preflight; undefined for any other request. */
  preflight(method: string, header: Headers): UniversalServerResponse | undefined;
  /** Whether an origin is named; with "*" every one is. */
  lists(origin: string): boolean;
  /** Adds what lets the page of this request read the answer. */
  allow(request: HeaderLookup, response: Pick<Headers, "append" | "set">): void;
}

/** How long a browser may keep a preflight's answer: Chrome's own limit. */
const preflightKeepS = 7_200;

/**
 * @throws TypeError naming an origin that no browser sends.
 */
export function createCors(options: CorsOptions | undefined): Cors {
  if (options === undefined)
    return { lists: () => false, preflight: () => undefined, allow: () => undefined };
  const { origins } = options;
  if (origins !== "*") for (const origin of origins) assertOrigin(origin);
  const known = new Set<string>(origins);
  const allowed = (origin: string | null): origin is string =>
    origin !== null && (origins === "*" || known.has(origin));
  const requestHeaders = [
    ...connectCors.allowedHeaders,
    "authorization",
    ...requestHeaderNames,
    ...(options.requestHeaders ?? []),
  ].join(", ");
  const responseHeaders = [
    ...connectCors.exposedHeaders,
    "retry-after",
    ...responseHeaderNames,
    ...(options.responseHeaders ?? []),
  ].join(", ");

  const allow: Cors["allow"] = (request, response) => {
    response.append("vary", "origin");
    const origin = request.get("origin");
    if (!allowed(origin)) return;
    response.set("access-control-allow-origin", origin);
    response.set("access-control-expose-headers", responseHeaders);
  };
  return {
    lists: allowed,
    allow,
    preflight(method, request) {
      if (method !== "OPTIONS" || request.get("access-control-request-method") === null) return undefined;
      const header = new Headers();
      allow(request, header);
      if (header.has("access-control-allow-origin")) {
        header.set("access-control-allow-methods", connectCors.allowedMethods.join(", "));
        header.set("access-control-allow-headers", requestHeaders);
        header.set("access-control-max-age", `${preflightKeepS}`);
      }
      return { status: 204, header };
    },
  };
}

function assertOrigin(origin: string): void {
  const parsed = URL.canParse(origin) ? new URL(origin).origin : undefined;
  if (parsed === origin) return;
  const hint = parsed === undefined || parsed === "null" ? "https://board.example.com" : parsed;
  throw new TypeError(
    `holdfast: cors.origins has "${origin}", which no browser sends as an origin. Write it as "${hint}".`,
  );
}
