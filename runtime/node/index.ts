/** `holdfast` in Node: the neutral surface, and `linkOf` over Node's own HTTP. */
import { createLinkOf, type LinkOf } from "../link/registry.ts";
import { type NodeLinkOptions, nodePlatform } from "./platform.ts";

export * from "../index.ts";
export { wiresBy } from "../link/link-wire.ts";
export { memoryOutbox } from "../outbox/memory-outbox.ts";
export type { TlsOptions } from "./dial.ts";
export { runAgain, type RunAgainOptions } from "./run-again.ts";
export { type LineOutput, showEachLine, showLine, type ShowLineOptions } from "./terminal-line.ts";
export { type NodeLinkOptions, nodePlatform } from "./platform.ts";

/**
 * The link to a server: the same one for the same server and account in this process.
 *
 * @param url - the server's base URL; services lie below it at their Connect paths.
 * @throws TypeError for a URL that is none, for options that do not go together, and when a link of this
 * server and account exists with other options. RangeError for a timing that does not fit together.
 */
export const linkOf: LinkOf<NodeLinkOptions> = createLinkOf(nodePlatform, ["httpVersion", "tls"]);
