/**
 * A stream as the program reads it: one loop that lives through drops.
 *
 * An item counts as taken when it is handed to the program, since the program lives on: what its loop does with
 * the item is its own business, and a stream that gave it again would give it twice.
 *
 * Source: design "Streams: The client".
 */
import { type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { StreamDefinition } from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import { onAbort } from "../base/signals.ts";
import { snapshot } from "../base/snapshot.ts";
import type { Gap, GapMode, ResumableStream, StreamOptions, StreamState } from "../base/streams.ts";
import { Source, type Watchable } from "../base/watchable.ts";
import { callerAborted, errorOfStop } from "../call/call-error.ts";
import { followDialer, type Followed } from "./follow-connection.ts";
import { GapTeller } from "./gap.ts";
import { type Arrived, Inbox } from "./inbox.ts";
import { plainDialer } from "./plain-connection.ts";
import type { StreamEnvironment } from "./stream-environment.ts";
import { streamFacts } from "./stream-end.ts";
import { left, StreamLoop } from "./stream-loop.ts";
import { wireDialer } from "./wire-connection.ts";

/** Follows a stream of a link. */
export function followStream<I extends DescMessage, O extends DescMessage, Gaps extends GapMode>(
  env: StreamEnvironment,
  definition: StreamDefinition<I, O>,
  request: MessageInitShape<I>,
  options: StreamOptions<Gaps> = {},
): ResumableStream<MessageShape<O>, Gaps> {
  return new Stream(env, definition, request, options);
}

const done: IteratorResult<never, undefined> = { done: true, value: undefined };

/** How it ended, for a loop that has come to the end of what arrived. */
type End = { readonly kind: "quiet" } | { readonly kind: "thrown"; readonly error: Error };

class Stream<I extends DescMessage, O extends DescMessage, Gaps extends GapMode>
  implements ResumableStream<MessageShape<O>, Gaps>
{
  readonly #env: StreamEnvironment;
  readonly #options: StreamOptions<Gaps>;
  readonly #state = new Source<StreamState>({ kind: "idle" });
  readonly #inbox: Inbox<MessageShape<O>>;
  readonly #gaps: GapTeller;
  readonly #loop: StreamLoop<MessageShape<O>>;
  /** The loop's run, once it was begun. */
  #running: Promise<void> | undefined;
  #iterated = false;
  #end: End | undefined;
  /** Several reads at once get their items in order. */
  #turn: Promise<unknown> | undefined;
  #waitingReads = 0;
  #forget: readonly (() => void)[] = [];

  constructor(
    env: StreamEnvironment,
    definition: StreamDefinition<I, O>,
    request: MessageInitShape<I>,
    options: StreamOptions<Gaps>,
  ) {
    const { method, roomCount, idleMs } = definition;
    this.#env = env;
    this.#options = options;
    this.#inbox = new Inbox(roomCount);
    this.#gaps = new GapTeller(options.gaps ?? "tell", options.onGap);
    const followed: Followed<I, O> = {
      definition,
      // A program that changes its message later must not change what a resume asks for.
      request: snapshot(method.input, request),
      headers: programHeaders(options.headers, env.server),
      contextValues: options.contextValues,
      onHeader: options.onHeader,
      onTrailer: options.onTrailer,
    };
    const plain = env.server === "plain";
    this.#loop = new StreamLoop({
      env,
      dialer: dialerOf(env)(env, followed),
      name: `${method.parent.typeName}/${method.name}`,
      idleMs: plain ? undefined : idleMs,
      inbox: this.#inbox,
      onShown: (state) => this.#state.set(state),
    });
  }

  get state(): Watchable<StreamState> {
    return this.#state;
  }

  get lostCount(): number {
    return this.#gaps.lostCount;
  }

  get restartCount(): number {
    return this.#gaps.restartCount;
  }

  [Symbol.asyncIterator](): AsyncIterator<MessageShape<O> | ("yield" extends Gaps ? Gap : never), undefined> {
    if (this.#iterated) {
      throw new TypeError("this stream is read by a loop already, or was; follow it again for another loop");
    }
    this.#iterated = true;
    return {
      next: () => {
        // Most items are there already, as they come by the packet.
        const item = this.#waitingReads === 0 ? this.#inbox.takeItem() : undefined;
        if (item !== undefined) return Promise.resolve(this.#taken(item));
        // A gap is only given where the options ask for it.
        const result = this.#isQuiet ? this.#nextArrival() : this.#nextInTurn();
        return result as Promise<IteratorResult<MessageShape<O>, undefined>>;
      },
      return: async () => {
        await this.close();
        return done;
      },
    };
  }

  async close(): Promise<void> {
    this.#stop({ kind: "quiet" });
    await this.#running;
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  #taken({ at, item }: Extract<Arrived<MessageShape<O>>, { kind: "item" }>): IteratorResult<MessageShape<O>> {
    this.#loop.intake.taken(at);
    return { done: false, value: item };
  }

  /** Nothing is there, and something may come. */
  get #isQuiet(): boolean {
    return (
      this.#waitingReads === 0 &&
      this.#inbox.count === 0 &&
      this.#running !== undefined &&
      this.#end === undefined
    );
  }

  /** Hands an item to the reader as it comes: a follower of a quiet topic always waits, for one item at a time. */
  #nextArrival(): Promise<IteratorResult<MessageShape<O> | Gap, undefined>> {
    this.#waitingReads += 1;
    const result = new Promise<IteratorResult<MessageShape<O> | Gap, undefined>>((resolve) => {
      this.#inbox.onArrival(() => {
        this.#waitingReads -= 1;
        const item = this.#inbox.takeItem();
        resolve(item === undefined ? this.#next(undefined) : this.#taken(item));
      });
    });
    this.#turn = result;
    return result;
  }

  /** A loop waits for one item at a time; who asks for more than one at once gets them in order. */
  #nextInTurn(): Promise<IteratorResult<MessageShape<O> | Gap, undefined>> {
    const result = this.#next(this.#waitingReads === 0 ? undefined : this.#turn);
    this.#turn = result;
    return result;
  }

  async #next(
    before: Promise<unknown> | undefined,
  ): Promise<IteratorResult<MessageShape<O> | Gap, undefined>> {
    this.#waitingReads += 1;
    try {
      // What went wrong with it, its own reader hears.
      if (before !== undefined) await before.catch(() => undefined);
      this.#begin();
      for (;;) {
        const one = this.#inbox.take();
        if (one?.kind === "item") return this.#taken(one);
        if (one?.kind === "gap") {
          const given = await this.#tell(one.gap);
          if (given !== undefined) return { done: false, value: given };
        } else if (this.#end !== undefined) {
          return await this.#ended(this.#end);
        } else {
          await this.#inbox.arrival();
        }
      }
    } finally {
      this.#waitingReads -= 1;
    }
  }

  async #tell(gap: Gap): Promise<Gap | undefined> {
    try {
      return this.#gaps.tell(gap);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** What went wrong is thrown once; then the loop is simply over. */
  async #ended(end: End): Promise<IteratorResult<never, undefined>> {
    this.#end = { kind: "quiet" };
    await this.#running;
    if (end.kind === "thrown") throw end.error;
    return done;
  }

  #begin(): void {
    if (this.#running !== undefined || this.#end !== undefined) return;
    const { signal } = this.#options;
    const stop = (why: unknown) => (reason: unknown) =>
      this.#stop({ kind: "thrown", error: this.#errorOf(why, reason) });
    this.#running = Promise.resolve(); // what has aborted already is told from inside onAbort
    this.#forget = [
      onAbort(signal, stop(callerAborted)),
      onAbort(this.#env.ending, (reason) => stop(reason)(reason)),
    ];
    if (this.#isOver) this.#over();
    else this.#running = this.#run();
  }

  get #isOver(): boolean {
    return this.#end !== undefined;
  }

  async #run(): Promise<void> {
    const cause = await this.#loop.run();
    // What has arrived by then is given first.
    this.#end ??= cause === undefined ? { kind: "quiet" } : { kind: "thrown", error: cause };
    this.#over();
    this.#inbox.wakeReader();
  }

  /** Somebody ends it: what has arrived is of no interest any more. */
  #stop(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#inbox.clear();
    this.#loop.stop(end.kind === "thrown" ? end.error : left);
    this.#inbox.wakeReader();
    if (this.#running === undefined) this.#over();
  }

  #over(): void {
    for (const forget of this.#forget) forget();
    const cause = this.#end?.kind === "thrown" ? this.#end.error : undefined;
    if (this.#state.value.kind !== "ended") this.#state.set({ kind: "ended", cause });
    this.#state.close();
  }

  #errorOf(why: unknown, reason: unknown): Error {
    const error = errorOfStop(why, streamFacts(this.#loop.generation), undefined, reason);
    return error instanceof Error ? error : new Error(String(error));
  }
}

function dialerOf({ server, webSocket }: StreamEnvironment): typeof followDialer {
  if (server === "plain") return plainDialer;
  return webSocket() === undefined ? followDialer : wireDialer;
}

/** What the program adds to the request. The sign-in is the link's. */
function programHeaders(init: HeadersInit | undefined, server: "holdfast" | "plain"): Headers {
  const headers = new Headers(init);
  for (const name of ["authorization", "cookie"]) {
    if (server === "holdfast" && headers.has(name)) {
      throw new TypeError(
        `a stream cannot carry a ${name} header of its own, since it is signed in anew at each connect; give linkOf a token source`,
      );
    }
  }
  return headers;
}
