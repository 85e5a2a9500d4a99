/**
 * Which builds of the client are served. A client whose build is not is told so at its first request, before
 * anything of it is read, and asks its person for a new one.
 *
 * Source: design "Server: What a user writes".
 */
import { serverError } from "../runtime/base/server-reasons.ts";
import type { Log } from "../runtime/base/log.ts";
import { Code, ConnectError } from "@connectrpc/connect";

/** A client's build as it names itself. */
export interface ClientBuild {
  /** The whole text, such as "1.4.0-beta". */
  readonly id: string;
  /** The first three numbers, undefined where the text has none. */
  readonly major: number | undefined;
  readonly minor: number | undefined;
  readonly patch: number | undefined;
}

export interface BuildOptions {
  /** The server's own build: 1 to 128 printable ASCII characters without quotes. Told to every client. */
  readonly id: string;
  /**
   * Whether a client's build is served. Not asked for clients that name none, such as plain Connect ones.
   * Default: every build.
   */
  readonly accepts?: (client: ClientBuild) => boolean;
}

const buildPattern = /^[\x20-\x7e]{1,128}$/;
const numbersPattern = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/;

/**
 * Looks at a client's build.
 *
 * @returns a function that throws BUILD_REFUSED for a build that is not served; undefined: the client names none.
 * @throws TypeError for a server build that cannot be told to clients.
 */
export function createBuildGate(
  build: BuildOptions | undefined,
  log: Log,
): (client: string | undefined) => void {
  if (build === undefined) return () => undefined;
  if (!buildPattern.test(build.id) || /["\\]/.test(build.id)) {
    throw new TypeError(
      'holdfast: build.id must be 1 to 128 printable ASCII characters without quotes and backslashes, such as "1.4.0".',
    );
  }
  const { accepts } = build;
  return (id) => {
    if (accepts === undefined || id === undefined) return;
    if (!buildPattern.test(id))
      throw serverError("BUILD_REFUSED", "the name of the client's build cannot be read");
    if (asked(accepts, parseBuild(id), log)) return;
    throw serverError("BUILD_REFUSED", `the server (build ${build.id}) does not accept build ${id}`);
  };
}

/** Reads the numbers of a build's name. */
export function parseBuild(id: string): ClientBuild {
  const [, major, minor, patch] = numbersPattern.exec(id) ?? [];
  const number = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : Number(text);
  return { id, major: number(major), minor: number(minor), patch: number(patch) };
}

function asked(accepts: (client: ClientBuild) => boolean, client: ClientBuild, log: Log): boolean {
  try {
    return accepts(client);
  } catch (error) {
    log.error("build.accepts threw", { error });
    throw new ConnectError("the server could not look at the build", Code.Unavailable);
  }
}
