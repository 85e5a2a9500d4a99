/** docs/wire.md against the code: the headers, the marks, and the grammar of a call's header. */
import { describe, expect, it } from "vitest";
import { serverReasons } from "../../runtime/base/server-reasons.ts";
import {
  headerNames,
  parseCallHeader,
  requestHeaderNames,
  responseHeaderNames,
} from "../../runtime/call/headers.ts";
import { quoted } from "./markdown.ts";
import { read } from "./source-files.ts";

const page = read("docs/wire.md");

/** The first cells of the table under a heading. */
function firstCells(heading: string): readonly string[] {
  const section = page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => quoted(row.split("|")[1] ?? "")[0] ?? "");
}

describe("docs/wire.md", () => {
  it("lists the headers of requests and of answers, and no other", () => {
    const requests = firstCells("Headers of a request").filter((name) => name.startsWith("holdfast-"));
    expect([...requests].sort()).toEqual([...requestHeaderNames].sort());
    expect([...firstCells("Headers of an answer")].sort()).toEqual([...responseHeaderNames].sort());
    const names: readonly string[] = Object.values(headerNames);
    const mentioned = [...page.matchAll(/`(holdfast-[a-z]+)/g)].map((match) => match[1] ?? "");
    expect(mentioned.filter((name) => !names.includes(name))).toEqual([]);
  });

  it("lists every mark that a reason has", () => {
    const marks = new Set(Object.values(serverReasons).map((reason) => reason.mark));
    expect(firstCells("Marks")).toEqual(expect.arrayContaining([...marks]));
  });

  it("gives the grammar that the server reads", () => {
    const id = "AAECAwQFBgcICQoLDA0ODw";
    expect(parseCallHeader(id)?.id).toBe(id);
    expect(parseCallHeader(`"${id}"`)?.lane).toBeUndefined();
    expect(parseCallHeader(`"${id}";l="${id}";s=3;u=2;t=1;f=1790000000000`)?.lane?.firstSent).toEqual({
      serverMs: 1_790_000_000_000,
    });
    expect(parseCallHeader(`"${id}";l="${id}";s=3;u=2;t=1;a=250`)?.lane?.firstSent).toEqual({ agoMs: 250 });
    expect(parseCallHeader(`"${id}";l="${id}";u=2;s=3;t=1;a=250`)).toBeUndefined();
    expect(parseCallHeader(id.slice(0, 15))).toBeUndefined();
  });
});
