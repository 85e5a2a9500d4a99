/** The table of reasons in the code, the enum in the schema and docs/errors.md: the same reasons, both ways. */
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ReasonSchema } from "../../gen/holdfast/v1/errors_pb.ts";
import {
  type Mark,
  reasonNames,
  reasonNumber,
  reasons,
  type ServerReason,
} from "../../runtime/base/reasons.ts";
import { liveReasons } from "../../runtime/base/live-reasons.ts";
import { isServerReason, serverError, serverReasons } from "../../runtime/base/server-reasons.ts";
import { nextStep } from "../../runtime/call/retry.ts";
import { read } from "./source-files.ts";

/** What a page says of one reason. */
interface Described {
  readonly code: string;
  readonly mark: string | undefined;
  /** Empty for one that ends no call. */
  readonly outcomes: readonly string[];
  readonly does: boolean;
}

function describedIn(page: string): ReadonlyMap<string, Described> {
  const sections = page.split(/^### /m).slice(1);
  return new Map(
    sections.map((section) => {
      const name = section.split("\n", 1)[0] ?? "";
      const line = /^Code `(\w+)`, (?:mark `([\w-]+)`|no mark), (ends no call|outcome .+)\.$/m.exec(section);
      if (line === null) throw new Error(`docs/errors.md: ${name} does not say its code, mark and outcome`);
      const [, code = "", mark, outcome = ""] = line;
      const outcomes = [...outcome.matchAll(/`([\w-]+)`/g)].map((match) => match[1] ?? "");
      return [name, { code, mark, outcomes, does: /^\*\*Do:\*\* \S/m.test(section) }];
    }),
  );
}

const page = describedIn(read("docs/errors.md"));
const inProto = [...read("proto/holdfast/v1/errors.proto").matchAll(/^ {2}REASON_(\w+) = (\d+);/gm)].map(
  (match) => ({
    name: match[1] ?? "",
    number: Number(match[2]),
  }),
);

/** Connect's name of a code, as it stands in JSON. */
function codeName(code: Code): string {
  return Code[code].replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** How a once-command ends when its first try is refused with this mark. */
function outcomeOf(mark: Mark, reason: ServerReason): string {
  const facts = {
    delivery: "repeatable",
    once: true,
    budgetLeftMs: 1_000,
    refreshed: false,
    canRefresh: false,
    mayHaveRun: false,
    noServer: false,
  } as const;
  const next = nextStep({ kind: "refusal", error: serverError(reason), mark }, facts);
  return next.kind === "end" ? next.outcome : next.kind;
}

describe("the reasons", () => {
  it("are the same in the code, the schema and the page, in the same order", () => {
    const inSchema = inProto.map((entry) => entry.name).filter((name) => name !== "UNSPECIFIED");
    expect([...page.keys()]).toEqual([...reasonNames]);
    expect(inSchema).toEqual([...reasonNames]);
  });

  it("have the generated code's numbers, each once", () => {
    const generated = ReasonSchema.values.map((value) => ({ name: value.localName, number: value.number }));
    expect(inProto).toEqual(generated);
    for (const name of reasonNames) {
      expect(inProto.find((entry) => entry.name === name)?.number).toBe(reasonNumber(name));
    }
    expect(new Set(inProto.map((entry) => entry.number)).size).toBe(inProto.length);
  });

  it("are read from a page only where it says code, mark and outcome", () => {
    expect(() => describedIn("### LOST\n\nSomething was lost.\n")).toThrow(/LOST does not say/);
  });
});

describe.each(reasonNames)("%s", (name) => {
  const ofServer = isServerReason(name);
  const info = ofServer ? serverReasons[name] : { ...reasons, ...liveReasons }[name];
  const mark = ofServer ? serverReasons[name].mark : undefined;
  const described = page.get(name);

  it("has the code and the mark that the page says", () => {
    expect(described?.code).toBe(codeName(info.code));
    expect(described?.mark).toBe(mark);
  });

  it("ends a command as the page says", () => {
    if (mark === "later") expect(described?.outcomes).toEqual([]);
    else if (ofServer && mark !== undefined) expect(described?.outcomes).toEqual([outcomeOf(mark, name)]);
    else expect(described?.outcomes).not.toEqual([]);
  });

  it("says what happened and what to do next, in the code and on the page", () => {
    expect(described?.does).toBe(true);
    expect(info.text).toMatch(/[^.]$/);
    expect(info.advice).toMatch(/\.$/);
  });
});
