/** Installs the packages of peers, which the project has no other use for, when a row that needs them is measured. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = new URL("peers/", import.meta.url);

/** Package paths and versions of a lock file. */
function locked(name: string): Readonly<Record<string, { readonly version?: string }>> {
  const file = new URL(name, folder);
  if (!existsSync(file)) return {};
  return (JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, { version?: string }> })
    .packages;
}

export function installPeers(): void {
  const wanted = locked("package-lock.json");
  const installed = locked("node_modules/.package-lock.json"); // npm writes it at the end of each install
  const lacks = Object.keys(wanted).some(
    (path) => path !== "" && installed[path]?.version !== wanted[path]?.version,
  );
  if (!lacks) return;
  process.stderr.write("bench: installing the peers\n");
  const { status } = spawnSync("npm", ["ci"], { cwd: fileURLToPath(folder), stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("npm could not install the peers; `npm run bench -- codec` needs none");
}
