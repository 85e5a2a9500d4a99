import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("the codecs run where no code may be made from text, and depth bombs end no process", () => {
  const program = fileURLToPath(new URL("strict-program.ts", import.meta.url));
  const flags = [
    "--disallow-code-generation-from-strings",
    "--conditions=holdfast-source",
    "--import",
    "tsx",
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, program], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect({ status, stdout }).toEqual({ status: 0, stdout: "strict: ok\n" });
});
