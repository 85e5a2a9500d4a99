/** What holdfast adds to a page: held to its budget, and to what docs/sizes.md says. */
import { describe, expect, it } from "vitest";
import { bundleForBrowsers, measureSizes } from "../../scripts/browser-bundle.ts";
import { budgetsOf, recordedBytes, sizesTable, withTable } from "../../scripts/sizes-page.ts";
import { read } from "../repo/source-files.ts";

/** How far the page may be off: a fix changes some bytes, a feature should be seen in the page. */
const driftMost = 0.05;

describe("the size of a client in the browser", () => {
  it("grows with what is in it", async () => {
    const small = await bundleForBrowsers('export { linkLine } from "holdfast"');
    const large = await bundleForBrowsers('export { linkOf } from "holdfast"');
    expect(large.gzipBytes).toBeGreaterThan(small.gzipBytes * 2);
  });

  it("stays within its budget, and docs/sizes.md tells it", async () => {
    const { aboveConnectBytes } = await measureSizes();
    const recorded = recordedBytes(read("docs/sizes.md"));
    expect(Math.abs(aboveConnectBytes / recorded - 1), "run `npm run size -- --write`").toBeLessThan(
      driftMost,
    );
    expect(aboveConnectBytes).toBeLessThanOrEqual(budgetsOf(read("package.json")).aboveConnectBytes);
  });
});

describe("the page of sizes", () => {
  it("gets its table in place of the one that it has", () => {
    const table = sizesTable({
      binaryBytes: 1,
      protobufBytes: 1,
      connectBytes: 2,
      callsBytes: 4,
      jsonBytes: 5,
      streamsBytes: 5,
      holdsBytes: 6,
      aboveConnectBytes: 2,
      parts: [],
    });
    const page = withTable(read("docs/sizes.md"), table);
    expect(recordedBytes(page)).toBe(2);
    expect(withTable(page, table)).toBe(page);
  });
});
