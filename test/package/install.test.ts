/** What an install of the package brings along, read from the lock file and the sources. */
import { describe, expect, it } from "vitest";
import { filesBelow, importsOf, isTest, packageOf, read } from "../repo/source-files.ts";
import { installedWith, type LockedPackages, withInstallScripts } from "./install-scripts.ts";

const manifest = JSON.parse(read("package.json")) as {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

describe("an install", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: LockedPackages };

  it("finds an install script wherever it lies", () => {
    const withNative: LockedPackages = {
      "": {
        dependencies: { a: "1" },
        peerDependencies: { b: "1", asked: "1" },
        peerDependenciesMeta: { asked: { optional: true } },
      },
      "node_modules/asked": { hasInstallScript: true },
      "node_modules/a": { optionalDependencies: { native: "1" } },
      "node_modules/a/node_modules/native": { hasInstallScript: true },
      "node_modules/native": {},
      "node_modules/b": {},
      "node_modules/of-development": { hasInstallScript: true },
    };
    expect(withInstallScripts(withNative)).toEqual(["node_modules/a/node_modules/native"]);
  });

  it("runs no script and builds nothing native", () => {
    expect(installedWith(packages).length).toBeGreaterThan(1);
    expect(withInstallScripts(packages)).toEqual([]);
  });

  it("brings no package that no source imports, and lacks none", () => {
    const sources = filesBelow(["runtime", "server", "codegen", "gen"], [".ts"]).filter(
      (file) => !isTest(file.path),
    );
    // A driver that may be missing is loaded by a call, so that its absence can be told in words.
    const loaded = sources.flatMap((file) =>
      [...file.text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name = ""]) => name),
    );
    const imported = new Set([...sources.flatMap(importsOf), ...loaded].map(packageOf));
    const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).sort();
    expect([...imported].filter((name) => name !== undefined && name !== "node:").sort()).toEqual(named);
  });

  it("has one copy of Connect and of protobuf-es", () => {
    for (const name of ["@connectrpc/connect", "@bufbuild/protobuf"]) {
      const copies = Object.keys(packages).filter((path) => path.endsWith(`node_modules/${name}`));
      expect(copies).toEqual([`node_modules/${name}`]);
    }
  });
});
