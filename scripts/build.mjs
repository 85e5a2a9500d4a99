// Emits dist/ from the sources, from nothing, so that no file of an earlier build is packed.
import { chmodSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(root, "dist"), { recursive: true, force: true });
const ok = run("tsc", ["-p", "tsconfig.build.json"], { cwd: root }) === 0;
if (ok) chmodSync(join(root, "dist/codegen/protoc-gen-holdfast.js"), 0o755);
finish({ name: "build", ok, text: ok ? "dist/ is made" : "the sources do not compile" });
