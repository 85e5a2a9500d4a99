/** `holdfast` where there is fetch and no Node: the neutral surface, and `linkOf` over fetch. */
import { createLinkOf, type LinkOf } from "../link/registry.ts";
import { type WebLinkOptions, webPlatform } from "./platform.ts";

export * from "../index.ts";
export { type WebLinkOptions, webPlatform } from "./platform.ts";

/**
 * The link to a server: the same one for the same server and account in this page or worker.
 *
 * @param url - the server's base URL; services lie below it at their Connect paths.
 * @throws TypeError for a URL that is none, for options that do not go together, and when a link of this
 * server and account exists with other options. RangeError for a timing that does not fit together.
 */
export const linkOf: LinkOf<WebLinkOptions> = createLinkOf(webPlatform, ["fetch", "credentials"]);
