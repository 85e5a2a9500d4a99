// Packs the package as it would be published, and says where the tarball lies, so that another project can
// install it from there.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
// It builds first, by the script "prepack".
const ok = run("npm", ["pack"], { cwd: root, output: "stderr" }) === 0;
finish({ name: "pack", ok, text: ok ? join(root, `${name}-${version}.tgz`) : "npm could not pack" });
