/**
 * Where a program keeps what it must find again: the state folder that the system has for the machine's user.
 * What lies there may be seen and changed by that user alone, so a folder of somebody else's, or a symbolic link
 * in place of one, is refused.
 *
 * Source: reliability decision D31.
 */
import { constants } from "node:fs";
import { lstat, mkdir, open } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** What the choice of a folder looks at. */
export interface FolderSurroundings {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** holdfast's folder in the data folder of the machine's user. Nothing is made. */
export function dataFolder(
  { platform, env, home }: FolderSurroundings = {
    platform: process.platform,
    env: process.env,
    home: homedir(),
  },
): string {
  switch (platform) {
    case "darwin":
      return join(home, "Library", "Application Support", "holdfast");
    case "win32":
      return join(env["LOCALAPPDATA"] ?? join(home, "AppData", "Local"), "holdfast");
    default: {
      const state = env["XDG_STATE_HOME"] ?? "";
      // A relative path is to be ignored, says the XDG specification.
      return join(state.startsWith("/") ? state : join(home, ".local", "state"), "holdfast");
    }
  }
}

/** A folder that is not ours to use. */
export class FolderRefused extends Error {
  override readonly name = "FolderRefused";
}

/**
 * Makes a folder for this user alone, with what is above it. When it resolves, a power cut does not take it away.
 *
 * @throws FolderRefused when it is a symbolic link, no folder, or another user's.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const firstMade = await mkdir(path, { recursive: true, mode: 0o700 });
  await checkPrivateFolder(path);
  // The one above is synced in any case: another process may have made this one a moment ago, and died since.
  for (let made = path; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (firstMade === undefined || made.length <= firstMade.length) return;
  }
}

/** Brings the names in a folder to the disk, where the system has a way: a folder that cannot be opened is let be. */
async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and writes such changes through by itself.
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY).catch(() => undefined);
  try {
    await folder?.sync();
  } finally {
    await folder?.close();
  }
}

/** @throws FolderRefused as {@link makePrivateFolder}; the system's error when it is not there. */
export async function checkPrivateFolder(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) {
    const what = found.isSymbolicLink() ? "a symbolic link" : "no folder";
    throw new FolderRefused(`${path} is ${what}; give another folder, or take it away`);
  }
  // Windows has no such numbers; its folders below the user's own are private.
  const user = process.getuid?.();
  if (user === undefined) return;
  if (found.uid !== user) throw new FolderRefused(`${path} belongs to another user; give another folder`);
  if ((found.mode & 0o022) !== 0) {
    throw new FolderRefused(`${path} may be written by other users; take that right away (chmod 700)`);
  }
}
