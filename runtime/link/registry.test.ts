import { describe, expect, it } from "vitest";
import type { HttpClient, HttpOptions } from "../base/http-client.ts";
import type { Stop } from "../base/late-signal.ts";
import { onAbort } from "../base/signals.ts";
import { jsonCodec } from "../codec/json.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { Tally } from "../../test/gen/test/v1/tally_holdfast.ts";
import type { Link } from "./link.ts";
import type { LinkOptions } from "./link-options.ts";
import type { Platform } from "./platform.ts";
import { createLinkOf } from "./registry.ts";

interface Own {
  readonly tls?: string;
}

/** A platform that notes what is opened, and where nobody answers. */
function platformWorld() {
  const opened: (HttpOptions & Own)[] = [];
  const clock = virtualClock();
  let closedCount = 0;
  const silence = ({ signal }: { readonly signal?: Stop | undefined }): Promise<never> =>
    new Promise((_, reject) => onAbort(signal, reject));
  const platform: Platform<Own> = {
    clock,
    random: seededRandom(1),
    json: jsonCodec,
    openHttp: (options, own): HttpClient => {
      opened.push({ ...options, ...own });
      return {
        send: silence,
        reach: (_url, signal) => silence({ signal }),
        retire: () => undefined,
        close: () => {
          closedCount += 1;
        },
      };
    },
    onWake: () => () => undefined,
  };
  /** Lets the links open their clients: each has a call under way then. */
  const use = async (...links: readonly Link[]): Promise<void> => {
    for (const link of links) link.call(Tally.read, {}).catch(() => undefined);
    await clock.settle();
  };
  return { linkOf: createLinkOf(platform, ["tls"]), opened, closedCount: () => closedCount, use };
}

const url = "http://board.test";

describe("linkOf", () => {
  it("gives the same link for the same server, however its URL is spelt", () => {
    const { linkOf } = platformWorld();
    const link = linkOf(url);
    for (const same of ["http://board.test/", "HTTP://BOARD.test:80", "http://board.test/?"]) {
      expect(linkOf(same)).toBe(link);
    }
    expect(linkOf(url, {})).toBe(link);
    expect(link.url).toBe(url);
  });

  it("gives another one for another scheme, port or path", () => {
    const { linkOf } = platformWorld();
    const links = [url, "https://board.test", "http://board.test:81", "http://board.test/api"].map((each) =>
      linkOf(each),
    );
    expect(new Set(links).size).toBe(4);
  });

  it("takes options that are equal by value for the same", () => {
    const { linkOf } = platformWorld();
    const options = (): LinkOptions & Own => ({ format: "json", timing: { budgetMs: 5_000 }, tls: "mine" });
    expect(linkOf(url, options())).toBe(linkOf(url, options()));
    expect(linkOf(url)).toBe(linkOf(url, options()));
  });

  it.each<[keyof (LinkOptions & Own), LinkOptions & Own]>([
    ["format", { format: "json" }],
    ["token", { token: () => "t" }],
    ["timing", { timing: { budgetMs: 5_000 } }],
    ["tls", { tls: "other" }],
  ])("names %s when the link exists with another one", (name, options) => {
    const { linkOf } = platformWorld();
    linkOf(url);
    expect(() => linkOf(url, options)).toThrow(
      new TypeError(
        `linkOf: the link of http://board.test/ exists with another ${name}; close it first, give the same options, or use another account`,
      ),
    );
  });

  it("makes one link for each account, and asks which one is meant", () => {
    const { linkOf } = platformWorld();
    const ann = linkOf(url, { account: "ann" });
    expect(linkOf(url)).toBe(ann);
    const bob = linkOf(url, { account: "bob", format: "json" });
    expect(bob).not.toBe(ann);
    expect(linkOf(url, { account: "ann" })).toBe(ann);
    expect(() => linkOf(url)).toThrow(
      new TypeError("linkOf: there are 2 links of http://board.test/; name one by its account"),
    );
  });

  it("forgets a link from the moment in which it is closed", async () => {
    const { linkOf } = platformWorld();
    const link = linkOf(url, { format: "json" });
    const closing = link.close();
    const next = linkOf(url, { format: "binary" });
    expect(next).not.toBe(link);
    await closing;
    await link.close();
    expect(linkOf(url)).toBe(next);
  });

  it("makes nothing of options that it refuses", () => {
    const { linkOf } = platformWorld();
    expect(() => linkOf(url, { account: "" })).toThrow(TypeError);
    expect(() => linkOf("board.test")).toThrow(TypeError);
    expect(linkOf(url, { account: "ann" })).toBe(linkOf(url));
  });
});

describe("the connections to a server", () => {
  it("are shared by its links, and closed with the last of them", async () => {
    const { linkOf, opened, closedCount, use } = platformWorld();
    const ann = linkOf(url, { account: "ann" });
    const bob = linkOf(url, { account: "bob", format: "json" });
    const api = linkOf(`${url}/api`);
    await use(ann, bob, api);
    expect(opened.map(({ origin }) => origin)).toEqual([url]);
    await ann.close();
    await api.close();
    expect(closedCount()).toBe(0);
    await bob.close();
    expect(closedCount()).toBe(1);
  });

  it("are opened by the first call, and anew by the first one after all links were closed", async () => {
    const { linkOf, opened, use } = platformWorld();
    const first = linkOf(url);
    expect(opened).toEqual([]);
    await use(first);
    await first.close();
    const second = linkOf(url);
    await use(second);
    expect(opened).toHaveLength(2);
    await second.close();
  });

  it.each<[string, string, LinkOptions & Own]>([
    ["another server", "http://other.test", {}],
    ["another option of the platform", url, { account: "bob", tls: "other" }],
    ["another time to connect", url, { account: "bob", timing: { connectWaitMs: 1_000 } }],
    ["another clock", url, { account: "bob", clock: virtualClock() }],
  ])("are others for %s", async (_, address, options) => {
    const { linkOf, opened, use } = platformWorld();
    const links = [linkOf(url, { account: "ann" }), linkOf(address, options)];
    await use(...links);
    expect(opened).toHaveLength(2);
    for (const link of links) await link.close();
  });
});
