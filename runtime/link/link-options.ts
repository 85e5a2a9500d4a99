/**
 * What a program says of a link, checked when the link is made.
 *
 * Source: design "Architecture: Public names".
 */
import type { Interceptor, Transport } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { assertTiming, defaultTiming, type Timing } from "../base/constants.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Codec } from "../codec/codec.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { TokenSource } from "../call/sign-in.ts";
import type { CallsWay, WireSupport } from "./wire-support.ts";
import type { OutboxHome } from "./platform.ts";

/** Where commands wait that their schema gives an outbox. */
export interface OutboxOptions {
  /**
   * The folder below which outboxes are kept, one for each server and account. Only with a platform that has
   * files. Default: holdfast's folder in the data folder of the machine's user.
   */
  readonly folder?: string;
  /**
   * A store in place of the platform's, or for a platform that has none, such as `indexedDbOutbox()` of
   * `holdfast/web/outbox`, which brings the outbox's code with it. Not together with `folder`.
   */
  readonly store?: OutboxStore | OutboxHome;
  /**
   * Whether a new link sends at once what earlier processes left. Default true; false: from the first call on,
   * for a program that shows what waits, or takes it out.
   */
  readonly atStart?: boolean;
}

export interface LinkOptions {
  /** Whose link it is, when one process talks to one server for several people. Default: one link a server. */
  readonly account?: string;
  /** Where the token for `authorization: Bearer` comes from. Default: none is sent. */
  readonly token?: TokenSource;
  /** The name of this client's life on the server. Links and processes may share one. Default: a random one. */
  readonly session?: string;
  /** The build of this program, which the server may refuse. Default: none is sent. */
  readonly build?: string;
  /**
   * `holdfast` (default): commands run once, by the server's journal. `plain`: any Connect server; budgets,
   * tries and states work as well, and commands are sent at most once.
   */
  readonly server?: "holdfast" | "plain";
  /** How messages travel. Default `binary`; `json` is readable in a browser's tools. */
  readonly format?: "binary" | "json";
  /**
   * Which way calls go. `auto` (default): over the link's wire while one is open, else over HTTP; it opens at the third
   * call. `http`: never over a wire. `wire`: over nothing else; a call waits for it, inside its budget.
   */
  readonly calls?: CallsWay;
  /** How a wire's packets are packed. Default `msgpack`; `json` is readable in a browser's tools. */
  readonly codec?: "msgpack" | "json";
  /**
   * What reads and writes JSON, for `format` and `codec`. Default: the platform's; a browser has none of its own, so
   * that a page without JSON does not load it: `jsonCodec` of `holdfast/codec`.
   */
  readonly json?: Codec;
  /** What opens wires. Default: the platform's; a browser has none of its own, see `holdfast/web/wire`. */
  readonly wire?: WireSupport;
  /** A Connect transport in place of holdfast's own. Its own interceptors and limits stand. */
  readonly transport?: Transport;
  /** Connect interceptors, around each try. Not together with `transport`. */
  readonly interceptors?: readonly Interceptor[];
  /** Where commands with an outbox wait. Default: where the platform keeps them. */
  readonly outbox?: OutboxOptions;
  /** Waits and budgets that differ from the defaults, in ms. */
  readonly timing?: Partial<Timing>;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Hears of each try: how it ended and what follows. Default: nobody. */
  readonly log?: Log;
}

/** A server's address in one form, so that two spellings of it are one link. */
export function normalizeUrl(url: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new TypeError(`linkOf: "${url}" is no URL; give one such as "https://board.example.com"`, {
      cause,
    });
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new TypeError(
      `linkOf: "${url}" starts with ${parsed.protocol}//; a server's URL starts with http:// or https://`,
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new TypeError("linkOf: the URL holds a user or a password; give a token source in place of it");
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw new TypeError(`linkOf: "${url}" has a query or a fragment, which a server's base URL has not`);
  }
  parsed.pathname = parsed.pathname.replace(/\/+$/, "");
  // A lone "?" or "#" counts as none, and stays in the address unless it is taken out.
  parsed.search = "";
  parsed.hash = "";
  return parsed;
}

/**
 * The timing of a link.
 *
 * @param json - what the link has for JSON.
 * @throws TypeError for options that do not go together; RangeError for a timing that does not fit.
 */
export function checkOptions(options: LinkOptions, json = options.json): Timing {
  if (options.transport !== undefined && options.interceptors !== undefined) {
    throw new TypeError(
      "linkOf: give interceptors to the transport that you pass, or leave the transport to the link",
    );
  }
  if (options.outbox?.folder !== undefined && options.outbox.store !== undefined) {
    throw new TypeError("linkOf: give the outbox a folder or a store, not both");
  }
  oneOf("server", options.server, ["holdfast", "plain"]);
  oneOf("format", options.format, ["binary", "json"]);
  oneOf("calls", options.calls, ["auto", "http", "wire"]);
  oneOf("codec", options.codec, ["msgpack", "json"]);
  if (json === undefined && (options.format === "json" || options.codec === "json")) {
    throw new TypeError(
      "linkOf: this platform loads no JSON by itself; give linkOf `json: jsonCodec`, from `holdfast/codec`",
    );
  }
  for (const name of ["account", "session", "build"] as const) {
    const value = options[name];
    // They travel as headers, in ASCII.
    if (value !== undefined && !/^[\x20-\x7e]{1,256}$/.test(value)) {
      throw new TypeError(`linkOf: ${name} must be 1 to 256 printable ASCII characters`);
    }
  }
  const timing = { ...defaultTiming, ...options.timing };
  assertTiming(timing);
  return timing;
}

/** For programs without types: a misspelt word would quietly mean the default. */
function oneOf(name: string, value: string | undefined, allowed: readonly string[]): void {
  if (value !== undefined && !allowed.includes(value)) {
    throw new TypeError(`linkOf: ${name} is "${value}", it can be ${allowed.join(" or ")}`);
  }
}

/** The first option in which two differ: values by value, functions and other objects by identity. */
export function optionsDiffer(a: object, b: object): string | undefined {
  const left = new Map<string, unknown>(Object.entries(a));
  const right = new Map<string, unknown>(Object.entries(b));
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    if (!same(left.get(name), right.get(name))) return name;
  }
  return undefined;
}

function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isPlain(a) || !isPlain(b)) return false;
  return Array.isArray(a) === Array.isArray(b) && optionsDiffer(a, b) === undefined;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}
