import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ConnectionFault } from "../base/connection-fault.ts";
import { retryDetail } from "../base/errors.ts";
import type { Mark } from "../base/reasons.ts";
import { serverError } from "../base/server-reasons.ts";
import { errorEnd, replyEnd, type TryEnd, type TryFacts } from "./outcome.ts";

type Kind = TryEnd["kind"];
/** What the answer says of the command; `bare`: nothing. */
type Row = Readonly<Record<Mark | "bare", Kind>>;

const each = (kind: Kind): Row => ({
  bare: kind,
  ran: kind,
  refused: kind,
  unknown: kind,
  none: kind,
  later: kind,
});
const final: Row = { ...each("refusal"), later: "server-fault" };
const passing: Row = { ...final, bare: "server-fault" };
const signIn: Row = { ...each("unauthenticated"), refused: "refusal" };

/** Where the error comes from, and what was called. A mark counts only together with `holdfast-server`. */
type Case = "ours, once" | "ours" | "foreign, seen" | "foreign, unseen, once" | "foreign, unseen" | "plain";
type Cases = Readonly<Record<Case, Row>>;

const refusal: Cases = {
  "ours, once": passing,
  ours: final,
  "foreign, seen": each("connection-fault"),
  "foreign, unseen, once": each("not-holdfast"),
  "foreign, unseen": each("refusal"),
  plain: each("refusal"),
};
const deadline: Cases = {
  ...refusal,
  ours: passing,
  "foreign, unseen": each("server-fault"),
  plain: each("server-fault"),
};
const unauthenticated: Cases = {
  ...refusal,
  "ours, once": signIn,
  ours: signIn,
  "foreign, unseen": each("unauthenticated"),
  plain: each("unauthenticated"),
};
const notNow: Cases = {
  ...deadline,
  "foreign, seen": each("server-fault"),
  "foreign, unseen, once": each("server-fault"),
};

const table: Readonly<Record<keyof typeof Code, Cases>> = {
  Canceled: refusal,
  Unknown: refusal,
  InvalidArgument: refusal,
  DeadlineExceeded: deadline,
  NotFound: refusal,
  AlreadyExists: refusal,
  PermissionDenied: refusal,
  ResourceExhausted: notNow,
  FailedPrecondition: refusal,
  Aborted: refusal,
  OutOfRange: refusal,
  Unimplemented: refusal,
  Internal: refusal,
  Unavailable: notNow,
  DataLoss: refusal,
  Unauthenticated: unauthenticated,
};

/** The facts of each case; whatever is left out of them must not count. */
const factsOf: Readonly<Record<Case, readonly Omit<TryFacts, "http">[]>> = {
  "ours, once": [true, false].map((seen) => ({ once: true, server: "holdfast", seen })),
  ours: [true, false].flatMap((seen) =>
    (["holdfast", "plain"] as const).map((server) => ({ once: false, server, seen })),
  ),
  "foreign, seen": [true, false].map((once) => ({ once, server: "holdfast", seen: true })),
  "foreign, unseen, once": [{ once: true, server: "holdfast", seen: false }],
  "foreign, unseen": [{ once: false, server: "holdfast", seen: false }],
  plain: [true, false].map((seen) => ({ once: false, server: "plain", seen })),
};

function errorOf(code: Code, header: Record<string, string>): ConnectError {
  return new ConnectError("no", code, header);
}

describe("how a try ended, by code, mark, method and server", () => {
  for (const [name, cases] of Object.entries(table)) {
    it.each(Object.entries(cases))(`${name}, %s`, (kind, row) => {
      const server: Record<string, string> = kind.startsWith("ours") ? { "holdfast-server": "1" } : {};
      for (const [mark, expected] of Object.entries(row)) {
        const header = { ...server, ...(mark === "bare" ? {} : { "holdfast-settled": mark }) };
        for (const facts of factsOf[kind as Case]) {
          const end = errorEnd(errorOf(Code[name as keyof typeof Code], header), {
            ...facts,
            http: "answered",
          });
          expect([mark, facts, end.kind]).toEqual([mark, facts, expected]);
        }
      }
    });
  }
});

const query: TryFacts = { once: false, server: "holdfast", seen: true, http: "answered" };
const ours = { "holdfast-server": "1" };

describe("an error", () => {
  it("with a mark that this version does not know counts as one without", () => {
    const error = errorOf(Code.NotFound, { ...ours, "holdfast-settled": "maybe" });
    expect(errorEnd(error, query)).toMatchObject({ kind: "refusal", mark: undefined });
    expect(errorEnd(error, { ...query, once: true }).kind).toBe("server-fault");
  });

  it("aborted is a refusal, unless it asks for a new try", () => {
    const error = errorOf(Code.Aborted, ours);
    expect(errorEnd(error, query).kind).toBe("refusal");
    error.details = [retryDetail(250)];
    expect(errorEnd(error, query)).toMatchObject({ kind: "server-fault", hintMs: 250 });
  });

  it("that holds a connection fault is that fault, however deep", () => {
    const fault = new ConnectionFault("cut", "cut", { sent: true });
    const wrapped = new ConnectError(
      "x",
      Code.Unknown,
      undefined,
      undefined,
      new Error("y", { cause: fault }),
    );
    expect(errorEnd(wrapped, query)).toEqual({ kind: "connection-fault", fault });
  });

  it("that is no error of Connect is the program's own; it was sent once the HTTP client had it", () => {
    const error = new Error("an interceptor threw");
    for (const http of ["connecting", "sent", "answered", "ours", undefined] as const) {
      expect(errorEnd(error, { ...query, http })).toEqual({ kind: "program-fault", error, sent: true });
    }
    for (const thrown of [error, errorOf(Code.Unavailable, ours)]) {
      const end = errorEnd(thrown, { ...query, http: "idle" });
      expect(end).toEqual({ kind: "program-fault", error: thrown, sent: false });
    }
  });

  it("that is not in the whole answer of our server was made here", () => {
    const error = errorOf(Code.Internal, {});
    expect(errorEnd(error, { ...query, http: "ours" })).toEqual({ kind: "program-fault", error, sent: true });
  });

  it("over a transport of the program's own is an answer only with our header, but for a plain server", () => {
    const error = errorOf(Code.Unavailable, {});
    expect(errorEnd(error, { ...query, http: undefined }).kind).toBe("connection-fault");
    expect(errorEnd(error, { ...query, http: undefined, server: "plain" }).kind).toBe("server-fault");
  });
});

describe("a server fault", () => {
  const hints: readonly (readonly [Record<string, string>, number | undefined, boolean])[] = [
    [{}, undefined, false],
    [{ "retry-after": "3" }, 3_000, false],
    [{ "retry-after": "0" }, 0, false],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, undefined, false],
    [{ "retry-after": "-1" }, undefined, false],
    [{ "grpc-retry-pushback-ms": "40" }, 40, false],
    [{ "grpc-retry-pushback-ms": "-1" }, -1, true],
    [{ "grpc-retry-pushback-ms": "soon" }, -1, true],
    [{ "retry-after": "2", "grpc-retry-pushback-ms": "40" }, 2_000, false],
    [{ "holdfast-retry": "never" }, undefined, true],
    [{ "holdfast-retry": "later" }, undefined, false],
  ];
  it.each(hints)("with %o asks for a wait of %s ms; never again: %s", (header, hintMs, never) => {
    const end = errorEnd(errorOf(Code.Unavailable, { ...ours, ...header }), query);
    expect(end).toMatchObject({ kind: "server-fault", hintMs, never });
  });

  it("is throttled for resource_exhausted alone", () => {
    expect(errorEnd(errorOf(Code.ResourceExhausted, ours), query)).toMatchObject({ throttled: true });
    expect(errorEnd(errorOf(Code.Unavailable, ours), query)).toMatchObject({ throttled: false });
  });

  it("may have run, unless the server says that it did not begin", () => {
    for (const reason of ["OVERLOADED", "JOURNAL_FULL", "DRAINING"] as const) {
      const error = serverError(reason, undefined, { metadata: ours });
      expect(errorEnd(error, query)).toMatchObject({ kind: "server-fault", mayHaveRun: false });
    }
    const running = serverError("IN_PROGRESS", undefined, {
      metadata: { ...ours, "holdfast-settled": "later" },
    });
    expect(errorEnd(running, query)).toMatchObject({ kind: "server-fault", mayHaveRun: true });
  });
});

describe("a reply", () => {
  const reply = (header: Record<string, string>, trailer: Record<string, string> = {}) =>
    ({ stream: false, header: new Headers(header), trailer: new Headers(trailer) }) as unknown as Parameters<
      typeof replyEnd
    >[0];
  const rows: readonly (readonly [Omit<TryFacts, "http">, Kind])[] = [
    [{ once: true, server: "holdfast", seen: true }, "not-holdfast"],
    [{ once: true, server: "holdfast", seen: false }, "not-holdfast"],
    [{ once: false, server: "holdfast", seen: true }, "connection-fault"],
    [{ once: false, server: "holdfast", seen: false }, "reply"],
    [{ once: false, server: "plain", seen: true }, "reply"],
    [{ once: false, server: "plain", seen: false }, "reply"],
  ];
  it.each(rows)("with our header is one; without it, for %o, it is a %s", (facts, expected) => {
    const all: TryFacts = { ...facts, http: "answered" };
    expect(replyEnd(reply({}), all).kind).toBe(expected);
    expect(replyEnd(reply(ours), all).kind).toBe("reply");
    expect(replyEnd(reply({}, ours), all).kind).toBe("reply");
  });
});
