/**
 * Same server and account, same link: the one place that remembers them. A platform's entry makes one
 * `linkOf` for its process.
 *
 * Source: design "Architecture: Public names".
 */
import type { HttpOptions } from "../base/http-client.ts";
import { Connections } from "./connections.ts";
import { Link } from "./link.ts";
import { checkOptions, type LinkOptions, normalizeUrl, optionsDiffer } from "./link-options.ts";
import type { Platform } from "./platform.ts";

interface Known {
  readonly href: string;
  readonly options: LinkOptions;
  readonly link: Link;
}

interface Shared {
  readonly origin: string;
  readonly by: object;
  readonly connections: Connections;
}

/** `linkOf` of one platform. `Own` are the options that only its links have. */
export type LinkOf<Own> = (url: string, options?: LinkOptions & Own) => Link;

/**
 * Makes the `linkOf` of a platform.
 *
 * @param ownNames - the names of the platform's own options, all of which concern the HTTP client.
 */
export function createLinkOf<Own extends object>(
  platform: Platform<Own>,
  ownNames: readonly (keyof Own & string)[],
): LinkOf<Own> {
  const links: Known[] = [];
  const shared: Shared[] = [];

  /** The connections to one server are shared by all links that want them alike. */
  function connectionsTo(origin: string, options: LinkOptions & Own, http: HttpOptions): Connections {
    const own = Object.fromEntries(ownNames.map((name) => [name, options[name]])) as Own;
    const by = { ...own, clock: http.clock, connectWaitMs: http.connectWaitMs };
    for (const entry of shared) {
      if (entry.origin === origin && optionsDiffer(entry.by, by) === undefined) return entry.connections;
    }
    const connections = new Connections(() => platform.openHttp(http, own));
    shared.push({ origin, by, connections });
    return connections;
  }

  function create(url: URL, options: LinkOptions & Own): Link {
    const json = options.json ?? platform.json;
    const timing = checkOptions(options, json);
    const clock = options.clock ?? platform.clock;
    const http = { origin: url.origin, connectWaitMs: timing.connectWaitMs, clock };
    const connections = connectionsTo(url.origin, options, http);
    connections.join();
    const link: Link = new Link({
      url,
      options,
      timing,
      json,
      platform,
      connections,
      onClose: () => {
        remove(links, (known) => known.link === link);
        if (connections.unused) remove(shared, (entry) => entry.connections === connections);
      },
    });
    links.push({ href: url.href, options, link });
    return link;
  }

  return (address, options) => {
    const url = normalizeUrl(address);
    const ofServer = links.filter((known) => known.href === url.href);
    if (options === undefined) {
      if (ofServer.length > 1) {
        throw new TypeError(
          `linkOf: there are ${ofServer.length} links of ${url.href}; name one by its account`,
        );
      }
      return ofServer[0]?.link ?? create(url, {} as LinkOptions & Own);
    }
    const known = ofServer.find((entry) => entry.options.account === options.account);
    if (known === undefined) return create(url, options);
    const differs = optionsDiffer(known.options, options);
    if (differs === undefined) return known.link;
    throw new TypeError(
      `linkOf: the link of ${url.href} exists with another ${differs}; close it first, give the same options, or use another account`,
    );
  };
}

function remove<T>(list: T[], matches: (entry: T) => boolean): void {
  const at = list.findIndex(matches);
  if (at >= 0) list.splice(at, 1);
}
