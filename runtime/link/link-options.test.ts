import type { Transport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { defaultTiming } from "../base/constants.ts";
import { memoryOutbox } from "../outbox/memory-outbox.ts";
import { checkOptions, type LinkOptions, normalizeUrl, optionsDiffer } from "./link-options.ts";

describe("a server's URL", () => {
  it.each([
    ["http://board.test", "http://board.test/"],
    ["HTTP://Board.Test:80/", "http://board.test/"],
    ["https://board.test:443", "https://board.test/"],
    ["http://board.test/api/", "http://board.test/api"],
    ["http://board.test/api//", "http://board.test/api"],
    ["http://board.test/a/../b", "http://board.test/b"],
    ["http://board.test/?", "http://board.test/"],
    ["http://board.test/api/#", "http://board.test/api"],
    ["http://[::1]:8080", "http://[::1]:8080/"],
  ])("%s has one form: %s", (url, href) => {
    expect(normalizeUrl(url).href).toBe(href);
    expect(normalizeUrl(href).href).toBe(href);
  });

  it.each([
    ["", 'linkOf: "" is no URL; give one such as "https://board.example.com"'],
    ["board.test", 'linkOf: "board.test" is no URL; give one such as "https://board.example.com"'],
    ["/api", 'linkOf: "/api" is no URL; give one such as "https://board.example.com"'],
    [
      "ws://board.test",
      'linkOf: "ws://board.test" starts with ws://; a server\'s URL starts with http:// or https://',
    ],
    [
      "http://ann:secret@board.test",
      "linkOf: the URL holds a user or a password; give a token source in place of it",
    ],
    [
      "http://ann@board.test",
      "linkOf: the URL holds a user or a password; give a token source in place of it",
    ],
    [
      "http://board.test/?a=1",
      'linkOf: "http://board.test/?a=1" has a query or a fragment, which a server\'s base URL has not',
    ],
    [
      "http://board.test/#top",
      'linkOf: "http://board.test/#top" has a query or a fragment, which a server\'s base URL has not',
    ],
  ])("%s is refused with what to do", (url, text) => {
    expect(() => normalizeUrl(url)).toThrow(new TypeError(text));
  });
});

describe("options", () => {
  it.each([
    ["server", "holdfst", 'linkOf: server is "holdfst", it can be holdfast or plain'],
    ["format", "proto", 'linkOf: format is "proto", it can be binary or json'],
  ])("of a program without types: a misspelt %s is refused", (name, value, text) => {
    expect(() => checkOptions({ [name]: value })).toThrow(new TypeError(text));
  });

  it("may all be left out; a timing that is given replaces its default alone", () => {
    expect(checkOptions({})).toEqual(defaultTiming);
    expect(checkOptions({ timing: { budgetMs: 60_000 } })).toEqual({ ...defaultTiming, budgetMs: 60_000 });
    expect(checkOptions({ timing: { budgetMs: Number.POSITIVE_INFINITY } }).budgetMs).toBe(Infinity);
  });

  const transport = {} as Transport;
  const unfit: readonly (readonly [string, LinkOptions, string])[] = [
    [
      "interceptors for a transport of the program's own",
      { transport, interceptors: [] },
      "linkOf: give interceptors to the transport that you pass, or leave the transport to the link",
    ],
    [
      "messages in JSON without what writes it",
      { format: "json" },
      "linkOf: this platform loads no JSON by itself; give linkOf `json: jsonCodec`, from `holdfast/codec`",
    ],
    [
      "packets in JSON without what writes it",
      { codec: "json" },
      "linkOf: this platform loads no JSON by itself; give linkOf `json: jsonCodec`, from `holdfast/codec`",
    ],
    [
      "an outbox with two places",
      { outbox: { folder: "outbox", store: memoryOutbox() } },
      "linkOf: give the outbox a folder or a store, not both",
    ],
    ["an empty account", { account: "" }, "linkOf: account must be 1 to 256 printable ASCII characters"],
    [
      "an account beyond ASCII",
      { account: "Zoë" },
      "linkOf: account must be 1 to 256 printable ASCII characters",
    ],
    [
      "a session with a line's end",
      { session: "a\r\nb" },
      "linkOf: session must be 1 to 256 printable ASCII characters",
    ],
    [
      "a build of 257 characters",
      { build: "1".repeat(257) },
      "linkOf: build must be 1 to 256 printable ASCII characters",
    ],
  ];
  it.each(unfit)("with %s are refused", (_, options, text) => {
    expect(() => checkOptions(options)).toThrow(new TypeError(text));
  });

  it.each([
    [{ tryWaitMs: 0 }, "tryWaitMs is 0, it must be a number of ms above zero"],
    [{ budgetMs: -1 }, "budgetMs is -1, it must be a number of ms above zero"],
    [{ firstWaitMs: Number.NaN }, "firstWaitMs is NaN, it must be a number of ms above zero"],
    [{ connectWaitMs: 20_000 }, "connectWaitMs <= tryWaitMs, or a try ends while it connects"],
    [{ firstWaitMs: 9_000 }, "firstWaitMs <= waitMsMost"],
  ])("with the timing %o are refused", (timing, relation) => {
    expect(() => checkOptions({ timing })).toThrow(
      new RangeError(`holdfast: these settings do not fit together: ${relation}`),
    );
  });
});

describe("two sets of options", () => {
  const token = (): string => "t";
  it("are the same when their values are, however they were written", () => {
    const a = { token, format: "json", timing: { budgetMs: 1, tryWaitMs: 2 }, list: [1, { two: 2 }] };
    const b = { timing: { tryWaitMs: 2, budgetMs: 1 }, list: [1, { two: 2 }], format: "json", token };
    expect(optionsDiffer(a, b)).toBeUndefined();
    expect(optionsDiffer({}, { account: undefined })).toBeUndefined();
  });

  it.each<[string, object, object, string]>([
    ["a value", { format: "json" }, { format: "binary" }, "format"],
    ["one that only the first has", { build: "1" }, {}, "build"],
    ["one that only the second has", {}, { build: "1" }, "build"],
    ["a value inside", { timing: { budgetMs: 1 } }, { timing: { budgetMs: 2 } }, "timing"],
    ["the length of a list", { interceptors: [1] }, { interceptors: [1, 2] }, "interceptors"],
    ["a list and an object", { x: [] }, { x: {} }, "x"],
    ["two functions that read the same", { token: () => "t" }, { token: () => "t" }, "token"],
    ["two objects of a class", { clock: new Date(0) }, { clock: new Date(0) }, "clock"],
  ])("differ by %s, and the option is named", (_, a, b, name) => {
    expect(optionsDiffer(a, b)).toBe(name);
  });
});
