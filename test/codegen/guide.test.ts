import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { optionNames } from "../../codegen/options.ts";
import { faultCases } from "./fault-cases.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/generator.md"), "utf8");

describe("docs/guide/generator.md", () => {
  const [, table = ""] = guide.split("| it says | do |\n| --- | --- |\n");
  const rows = table
    .trim()
    .split("\n")
    .map((row) => row.split(" | ")[0]!.replace(/^\| /, ""))
    .map((text) => ({
      text,
      pattern: new RegExp(
        `: ${text
          .split("…")
          .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
          .join(".+?")}`,
      ),
    }));
  const messages = Object.values(faultCases).flatMap(({ faults }) => faults);

  test("has a row for every fault", () => {
    expect(messages.filter((message) => !rows.some(({ pattern }) => pattern.test(message)))).toEqual([]);
  });

  test("has no row that no fault gives (those of newer annotations have a test of their own)", () => {
    const idle = rows.filter(({ pattern }) => !messages.some((message) => pattern.test(message)));
    expect(idle.map(({ text }) => text)).toEqual([
      "sets field …, which this generator does not know",
      "sets … to …, which this generator does not know",
    ]);
  });

  test("names every option", () => {
    expect(optionNames.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });
});
