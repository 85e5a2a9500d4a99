// Runs TypeScript as it would run when built: `node --import ./bench/sources.mjs FILE.ts`.
//
// Other runners keep the name of each function with a call of their own whenever one is made. A function that was
// given a name so takes 256 bytes more and much of the time that making it takes, which is not what is measured here.
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transform } from "esbuild";

// Node loads modules in a thread of its own, which imports this file too.
if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
  const file = fileURLToPath(url);
  const { code } = await transform(await readFile(file, "utf8"), {
    loader: "ts",
    format: "esm",
    target: "node20",
    sourcefile: file,
    sourcemap: "inline",
    logLevel: "error",
  });
  return { format: "module", source: code, shortCircuit: true };
}
