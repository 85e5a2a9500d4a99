/** Pages that cannot lie about where things are: each link inside the repository leads somewhere. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsOf, localLinksOf } from "./markdown.ts";
import { filesBelow, read, root } from "./source-files.ts";

const rootPages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
const pages = [
  ...rootPages.filter((path) => existsSync(join(root, path))).map((path) => ({ path, text: read(path) })),
  ...filesBelow(["docs", "examples", "bench"], [".md"]),
];

/** The links of a page that lead nowhere. */
function broken(page: { readonly path: string; readonly text: string }): readonly string[] {
  return localLinksOf(page.text).filter((link) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? page.path : normalize(join(dirname(page.path), file));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(read(target)).has(anchor);
  });
}

describe("links between pages", () => {
  it("are found broken when the file or the heading is not there", () => {
    const text =
      "[a](no-such.md) [b](architecture.md#no-such) [c](architecture.md#folders) [d](https://a.example)";
    expect(broken({ path: "docs/x.md", text })).toEqual(["no-such.md", "architecture.md#no-such"]);
  });

  it.each(pages)("of $path lead to a file and a heading", (page) => {
    expect(broken(page)).toEqual([]);
  });
});
