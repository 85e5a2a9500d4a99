/** A link over scripted HTTP in virtual time, and the words in which tests of calls speak. */
import { expect } from "vitest";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { parseCallHeader, headerNames, type LanePosition } from "../../runtime/call/headers.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { LinkState } from "../../runtime/link/link-state.ts";
import { createLinkOf, type LinkOf } from "../../runtime/link/registry.ts";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type TallyClient, tallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "./harness.ts";
import { type Answers, answersOf, type ScriptedHttp, type Seen, scriptedHttp } from "./scripted-http.ts";

export interface CallWorld extends AsyncDisposable {
  readonly harness: Harness;
  readonly http: ScriptedHttp;
  readonly clock: VirtualClock;
  readonly answers: Answers;
  readonly linkOf: LinkOf<object>;
  readonly link: Link;
  readonly client: TallyClient;
  /** Every state of `link` since the start, the first one too. */
  readonly states: readonly LinkState[];
  /** Another link of the same process. */
  another(options: LinkOptions, url?: string): { readonly link: Link; readonly client: TallyClient };
  /** Moves time until the promise has its result, at most to `withinMs`. */
  settled<T>(promise: Promise<T>, withinMs?: number): Promise<T>;
  /** The error of a call that must fail. */
  failure(promise: Promise<unknown>, withinMs?: number): Promise<HoldfastError>;
}

export const serverUrl = "http://board.test";

export function callWorld(
  options: LinkOptions = {},
  { url = serverUrl, seed = 1 }: { readonly url?: string; readonly seed?: number | string } = {},
): CallWorld {
  const held = harness();
  const http = scriptedHttp(seed);
  const { clock } = http;
  held.watch(clock);
  const linkOf = createLinkOf(http.platform, []);
  const link = held.own(linkOf(url, options));
  const states: LinkState[] = [link.state.value];
  link.state.subscribe((state) => states.push(state));
  const settled = async <T>(promise: Promise<T>, withinMs = 3_600_000): Promise<T> => {
    let over = false;
    const mark = (): void => {
      over = true;
    };
    promise.then(mark, mark);
    const end = clock.monotonic() + withinMs;
    await clock.advance();
    const isOver = (): boolean => over;
    while (!isOver()) {
      const { next } = clock;
      expect(next, "a timer that the call waits for").toBeDefined();
      expect(next, "the call's end").toBeLessThanOrEqual(end);
      await clock.advanceToNext();
    }
    return promise;
  };
  return {
    harness: held,
    http,
    clock,
    answers: answersOf(clock),
    linkOf,
    link,
    client: tallyClient(link),
    states,
    another: (its, itsUrl = url) => {
      const other = held.own(linkOf(itsUrl, its));
      return { link: other, client: tallyClient(other) };
    },
    settled,
    failure: async (promise, withinMs) => {
      const error: unknown = await settled(
        promise.then(
          () => expect.unreachable("the call must fail"),
          (reason: unknown) => reason,
        ),
        withinMs,
      );
      expect(error).toBeInstanceOf(HoldfastError);
      return error as HoldfastError;
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/** What a try of a command said of itself. */
export function positionOf(seen: Seen | undefined): LanePosition & { readonly id: string } {
  const header = parseCallHeader(seen?.header.get(headerNames.call) ?? "");
  expect(header?.lane, "a whole holdfast-call").toBeDefined();
  return { id: header!.id, ...header!.lane! };
}

/** The gaps between requests, in ms. */
export function gapsOf(requests: readonly Seen[]): readonly number[] {
  return requests.slice(1).map(({ at }, index) => at - (requests[index]?.at ?? 0));
}
