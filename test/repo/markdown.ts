/** Tables and headings of the docs, so that a page and a check are one. */

/** The rows of the first table after `<!-- name -->`, as cells, without its head. */
export function tableAfter(text: string, name: string): readonly (readonly string[])[] {
  const lines = text.split("\n");
  const mark = lines.indexOf(`<!-- ${name} -->`);
  if (mark < 0) throw new Error(`the page has no line <!-- ${name} -->`);
  const start = lines.findIndex((line, at) => at > mark && line.startsWith("|"));
  if (start < 0) throw new Error(`no table follows <!-- ${name} -->`);
  const end = lines.findIndex((line, at) => at > start && !line.startsWith("|"));
  return lines.slice(start + 2, end < 0 ? undefined : end).map(cellsOf);
}

function cellsOf(row: string): readonly string[] {
  return row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** What stands in backquotes in a cell. */
export function quoted(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const match of withoutCode(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const base = (match[1] ?? "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-");
    let anchor = base;
    for (let twin = 1; anchors.has(anchor); twin += 1) anchor = `${base}-${twin}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The targets of a page's links that lead inside the repository. */
export function localLinksOf(text: string): readonly string[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? "")
    .filter((target) => !/^[a-z]+:/.test(target));
}

function withoutCode(text: string): string {
  return text.replace(/^```.*?^```/gms, "").replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ""));
}
