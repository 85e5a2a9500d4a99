/**
 * Streams on a link. Generated definitions name this, and not the link, so that a program without streams is not
 * loaded with the code for them.
 */
import type { StreamFollower } from "../base/definition.ts";
import { followStream } from "../stream/resumable.ts";
import type { LinkInside } from "./link-environment.ts";
import { streamHost } from "./stream-host.ts";

export const resumable: StreamFollower = {
  follow: (inside: LinkInside, definition, request, options) =>
    followStream(streamHost(inside), definition, request, options),
};
