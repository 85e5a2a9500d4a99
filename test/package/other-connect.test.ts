/**
 * The packed package with another version of Connect, installed from a registry: runs only where
 * HOLDFAST_CONNECT names the version, such as `HOLDFAST_CONNECT=2.3.0 npm test -- other-connect`.
 */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../repo/source-files.ts";
import { packProject, runIn } from "./packed-project.ts";

const version = process.env["HOLDFAST_CONNECT"];

it.skipIf(version === undefined)(
  "the board's demo runs with another version of Connect",
  () => {
    const packed = packProject();
    try {
      const folder = join(packed.folder, "../with-other-connect");
      mkdirSync(folder);
      writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
      for (const name of ["board", "notebook"]) {
        cpSync(join(root, "examples", name), join(folder, name), { recursive: true });
      }
      const connect = ["@connectrpc/connect", "@connectrpc/connect-node"].map(
        (name) => `${name}@${version ?? ""}`,
      );
      const install = [
        "install",
        "--no-audit",
        "--no-fund",
        packed.tarball,
        ...connect,
        "@bufbuild/protobuf",
        "tsx",
      ];
      runIn(folder, "npm", install);
      // A native package, built once for this machine.
      symlinkSync(join(root, "node_modules/better-sqlite3"), join(folder, "node_modules/better-sqlite3"));
      expect(runIn(folder, "node", ["--import", "tsx", "board/demo.ts"])).toMatch(/^start: ok/m);
    } finally {
      packed[Symbol.dispose]();
    }
  },
  600_000,
);
