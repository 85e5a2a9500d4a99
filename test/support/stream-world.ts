/** A link whose streams go to a scripted server in virtual time, and the words in which tests of streams speak. */
import { expect } from "vitest";
import type {
  Gap,
  GapMode,
  ResumableStream,
  StreamOptions,
  StreamState,
} from "../../runtime/base/streams.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { LinkState } from "../../runtime/link/link-state.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import type { FollowResponse } from "../gen/test/v1/tally_pb.ts";
import { type FollowServer, followServer } from "./follow-server.ts";
import { type Harness, harness } from "./harness.ts";

/** A stream with what its loop has got. */
export interface Reader<Gaps extends GapMode = "tell"> {
  readonly stream: ResumableStream<FollowResponse, Gaps>;
  /** Numbers of items, and gaps in their places: "lost 3", "restarted". */
  readonly got: readonly (number | string)[];
  readonly states: readonly StreamState[];
  /** Undefined while it runs; then what it threw, or "done". */
  readonly end: unknown;
  /** Settles with the loop; never rejects. */
  readonly over: Promise<void>;
}

export interface StreamWorld extends AsyncDisposable {
  readonly harness: Harness;
  readonly server: FollowServer;
  readonly clock: VirtualClock;
  readonly link: Link;
  readonly states: readonly LinkState[];
  follow<Gaps extends GapMode = "tell">(options?: StreamOptions<Gaps>): ResumableStream<FollowResponse, Gaps>;
  /** Follows in a loop of its own; gaps are noted in their places. */
  read(options?: StreamOptions): Reader<GapMode>;
}

export function streamWorld(options: LinkOptions = {}, seed: number | string = 1): StreamWorld {
  const held = harness();
  const server = followServer(seed);
  held.watch(server.clock);
  const link = held.own(createLinkOf(server.platform, [])("http://board.test", options));
  const states: LinkState[] = [link.state.value];
  link.state.subscribe((state) => states.push(state));
  return {
    harness: held,
    server,
    clock: server.clock,
    link,
    states,
    follow: (its) => link.stream(Tally.follow, {}, its),
    read: (its = {}) => {
      const got: (number | string)[] = [];
      const onGap = (gap: Gap): void => {
        got.push(gap.$gap === "lost" ? `lost ${gap.count}` : "restarted");
        its.onGap?.(gap);
      };
      return readerOf(link.stream(Tally.follow, {}, { ...its, onGap }), got);
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

function readerOf(
  stream: ResumableStream<FollowResponse, GapMode>,
  got: (number | string)[],
): Reader<GapMode> {
  const states: StreamState[] = [stream.state.value];
  stream.state.subscribe((state) => states.push(state));
  let end: unknown;
  const run = async (): Promise<void> => {
    try {
      for await (const item of stream) if (!("$gap" in item)) got.push(Number(item.number));
      end = "done";
    } catch (error) {
      end = error;
    }
  };
  const over = run();
  return {
    stream,
    got,
    states,
    over,
    get end() {
      return end;
    },
  };
}

/** 1, 2, 3 … to `to`, or from `from`. */
export function numbers(to: number, from = 1): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** That a stream's state went through these kinds. */
export function expectKinds(states: readonly { readonly kind: string }[], kinds: readonly string[]): void {
  expect(states.map(({ kind }) => kind)).toEqual(kinds);
}
