/** The table of docs/sizes.md, and the budgets of package.json that it is held to. */
import type { Sizes } from "./browser-bundle.ts";

/** `sizeBudgets` of package.json. */
export interface SizeBudgets {
  /** The most that holdfast may add to Connect's own client, in bytes after minifying and gzip. */
  readonly aboveConnectBytes: number;
}

export function budgetsOf(manifest: string): SizeBudgets {
  const { sizeBudgets } = JSON.parse(manifest) as { sizeBudgets?: SizeBudgets };
  if (typeof sizeBudgets?.aboveConnectBytes !== "number") {
    throw new Error("package.json has no sizeBudgets.aboveConnectBytes");
  }
  return sizeBudgets;
}

const begin = "<!-- sizes-table -->";
const end = "<!-- end of sizes-table -->";

export function sizesTable(sizes: Sizes): string {
  const rows = [
    ["protobuf-es alone, without JSON", sizes.binaryBytes],
    ["protobuf-es alone", sizes.protobufBytes],
    ["Connect and protobuf-es alone", sizes.connectBytes],
    ["a client that makes calls", sizes.callsBytes],
    ["the same with JSON (`json: jsonCodec`)", sizes.jsonBytes],
    ["calls, streams and heartbeats", sizes.streamsBytes],
    ["calls, streams, held objects and wires", sizes.holdsBytes],
  ] as const;
  return [
    "| bundle | bytes | above protobuf-es | above Connect |",
    "| --- | --- | --- | --- |",
    ...rows.map(([name, bytes]) => {
      const above = (base: number): string => (bytes > base ? `${bytes - base}` : "–");
      return `| ${name} | ${bytes} | ${above(sizes.protobufBytes)} | ${above(sizes.connectBytes)} |`;
    }),
  ].join("\n");
}

/** The page with the table in place of the one that it has. */
export function withTable(page: string, table: string): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page lacks ${begin} … ${end}`);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

/** What a page says that a client that makes calls adds to Connect's own. */
export function recordedBytes(page: string): number {
  const match = /\| a client that makes calls \| \d+ \| \d+ \| (\d+) \|/.exec(page);
  if (match === null)
    throw new Error("docs/sizes.md has no row for a client that makes calls; run `npm run size -- --write`");
  return Number(match[1]);
}
