/**
 * One reader of the soak: a link of its own behind a proxy of its own, and a loop that holds what it gets to the
 * promise: each item once and in order, or the exact number of those that are lost.
 */
import type { Link } from "../../runtime/link/link.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { nodePlatform } from "../../runtime/node/platform.ts";
import { type FaultyProxy, faultyProxy } from "../../runtime/testing/node.ts";
import type { StreamDefinition } from "../../runtime/base/definition.ts";
import type { ResumableStream } from "../../runtime/base/streams.ts";
import type { FollowRequestSchema, FollowResponse, FollowResponseSchema } from "../gen/test/v1/tally_pb.ts";

/** Short enough for thousands of faults in minutes. */
const timing = {
  tryWaitMs: 2_000,
  connectWaitMs: 1_000,
  firstWaitMs: 20,
  waitMsMost: 200,
  budgetMs: 10_000,
  shortBudgetMs: 5_000,
} as const;

export type SoakStream = StreamDefinition<typeof FollowRequestSchema, typeof FollowResponseSchema>;

export interface SoakReader extends AsyncDisposable {
  readonly proxy: FaultyProxy;
  /** Items that it got, and that it was told are lost. */
  readonly gotCount: number;
  readonly lostCount: number;
  /** The number of the last item that is accounted for. */
  readonly at: number;
  /** Broken promises. */
  readonly faults: readonly string[];
  /** Resolves when it is open for the first time. */
  readonly opened: Promise<void>;
  /** Takes nothing until `resume`. */
  pause(): void;
  resume(): void;
}

export async function soakReader(name: string, port: number, definition: SoakStream): Promise<SoakReader> {
  const proxy = await faultyProxy({ target: { port } });
  const link = createLinkOf(nodePlatform, ["httpVersion", "tls"])(proxy.origin, { timing });
  return new Reader(name, proxy, link, definition);
}

class Reader implements SoakReader {
  readonly proxy: FaultyProxy;
  readonly opened: Promise<void>;
  readonly faults: string[] = [];
  gotCount = 0;
  lostCount = 0;
  at = 0;
  readonly #name: string;
  readonly #link: Link;
  readonly #stream: ResumableStream<FollowResponse>;
  readonly #run: Promise<void>;
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;

  constructor(name: string, proxy: FaultyProxy, link: Link, definition: SoakStream) {
    this.#name = name;
    this.proxy = proxy;
    this.#link = link;
    this.#stream = link.stream(
      definition,
      {},
      {
        onGap: (gap) => {
          if (gap.$gap === "restarted")
            this.faults.push(`${name}: restarted after ${this.at}, of a durable topic`);
          else {
            this.lostCount += gap.count;
            this.at += gap.count;
          }
        },
      },
    );
    this.opened = new Promise((resolve) => {
      const forget = this.#stream.state.subscribe(({ kind }) => {
        if (kind !== "open") return;
        forget();
        resolve();
      });
    });
    this.#run = this.#read();
  }

  pause(): void {
    if (this.#gate !== undefined) return;
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = { opened, open };
  }

  resume(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    await this.#stream.close();
    await this.#run;
    await this.#link.close();
    await this.proxy.close();
  }

  async #read(): Promise<void> {
    try {
      for await (const { number } of this.#stream) {
        this.gotCount += 1;
        this.at += 1;
        if (Number(number) !== this.at) {
          this.faults.push(`${this.#name}: got ${number} where ${this.at} was due`);
          this.at = Number(number);
        }
        await this.#gate?.opened;
      }
    } catch (error) {
      this.faults.push(`${this.#name}: its loop threw ${String(error)}`);
    }
  }
}
