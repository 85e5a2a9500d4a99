/** What an install of holdfast alone would run: read from the lock file. */

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly hasInstallScript?: boolean;
}

export type LockedPackages = Readonly<Record<string, Locked>>;

/** The packages that come with holdfast itself: its dependencies and peers but optional ones, and theirs. */
export function installedWith(packages: LockedPackages): readonly string[] {
  const found = new Set<string>();
  const waiting = namesOf(packages[""]).map((name) => `node_modules/${name}`);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    const from = path;
    waiting.push(...namesOf(packages[path]).flatMap((name) => placeOf(packages, from, name)));
  }
  return [...found].sort();
}

function namesOf(entry: Locked | undefined): readonly string[] {
  const peers = Object.keys(entry?.peerDependencies ?? {});
  // npm installs an optional peer only where the user asks for it.
  const wanted = peers.filter((name) => entry?.peerDependenciesMeta?.[name]?.optional !== true);
  return [...Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies }), ...wanted];
}

/** Where a package finds another one: in its own node_modules, or in the nearest above. */
function placeOf(packages: LockedPackages, from: string, name: string): readonly string[] {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf("node_modules/") - 1))) {
    const at = base === "" ? `node_modules/${name}` : `${base}/node_modules/${name}`;
    if (packages[at] !== undefined) return [at];
    if (base === "") return []; // an optional peer that nobody asked for
  }
}

/** Those of them that run a script when they are installed, which may mean a native build. */
export function withInstallScripts(packages: LockedPackages): readonly string[] {
  return installedWith(packages).filter((path) => packages[path]?.hasInstallScript === true);
}
