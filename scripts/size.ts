/**
 * Weighs what a browser loads, and holds it to the budget in package.json.
 *
 *   npm run size              says what it weighs, and what weighs most
 *   npm run size -- --write   writes the figures into docs/sizes.md
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { measureSizes, projectRoot } from "./browser-bundle.ts";
import { finish } from "./run.mjs";
import { budgetsOf, sizesTable, withTable } from "./sizes-page.ts";

const partsShownCount = 25;

const sizes = await measureSizes();
const { aboveConnectBytes: budget } = budgetsOf(readFileSync(join(projectRoot, "package.json"), "utf8"));
const own = sizes.parts.filter((part) => !part.path.includes("node_modules"));
for (const part of own.slice(0, partsShownCount)) {
  process.stdout.write(`${String(part.bytes).padStart(8)}  ${part.path}\n`);
}
if (process.argv.includes("--write")) {
  const page = join(projectRoot, "docs/sizes.md");
  writeFileSync(page, withTable(readFileSync(page, "utf8"), sizesTable(sizes)));
}
finish({
  name: "size",
  ok: sizes.aboveConnectBytes <= budget,
  text: `${sizes.aboveConnectBytes} bytes above Connect, of ${budget}; ${sizes.callsBytes} in all`,
  figures: sizes,
});
