/**
 * Which pages may open a WebSocket. Browsers ask no permission before they open one to another site, and send its
 * cookies along; all that tells a foreign page is the header Origin. So a page must be of the server's own origin or
 * of one that `cors` names. A client that is no browser sends none.
 *
 * Source: reliability check X6.
 */

/**
 * @param origin - the request's Origin; undefined: none.
 * @param host - the request's Host.
 * @param listed - whether `cors` names an origin.
 */
export function mayOpen(
  origin: string | undefined,
  host: string | undefined,
  listed: (origin: string) => boolean,
): boolean {
  if (origin === undefined) return true;
  if (listed(origin)) return true;
  // What a browser sends for a page in a sandbox, or from a file, is nobody's origin.
  if (origin === "null" || host === undefined || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  if (page.protocol !== "http:" && page.protocol !== "https:") return false;
  // A proxy may end TLS before us, so the scheme is the page's own; it tells which port is left out.
  const own = `${page.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === page.host;
}
