/** The one server that an HTTP client talks to. */

/** @throws TypeError for what is no origin of http: or https:. */
export function originUrl(origin: string): URL {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new TypeError(
      `"${origin}" is no address of a server; give one such as "https://board.example.com"`,
    );
  }
  return url;
}

/** @throws TypeError for a URL of another server: its connection would carry it to the wrong one. */
export function targetOf(requestUrl: string, origin: URL): URL {
  const url = new URL(requestUrl, origin);
  if (url.origin !== origin.origin) {
    throw new TypeError(`a request to ${url.origin} cannot go over the client of ${origin.origin}`);
  }
  return url;
}

/** A path that a parser of URLs leaves as it is, such as that of an rpc. */
const plainPath = /^(?:\/\w[\w.]*)+$/;

/** The path and the query of a request; throws as {@link targetOf} does. */
export function pathOf(requestUrl: string, origin: URL): string {
  const path = requestUrl.startsWith(origin.origin) ? requestUrl.slice(origin.origin.length) : "";
  if (plainPath.test(path)) return path;
  const url = targetOf(requestUrl, origin);
  return url.pathname + url.search;
}
