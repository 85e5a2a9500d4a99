/**
 * One run of a stream's handler: what its context gives it to follow, and how what it returned is served, with the
 * numbers (`serve`) or as bare messages (by iterating it).
 *
 * Source: design "Streams: The server".
 */
import { Code } from "@connectrpc/connect";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { errorOf } from "../../runtime/base/errors.ts";
import type { StreamContext } from "../../runtime/base/handlers.ts";
import type { AnyTopic, FollowOptions, NumberedSource } from "../../runtime/base/topics.ts";
import type { TopicFollower } from "./follower.ts";
import { IteratedSource, type NumberedItem } from "./iterated-source.ts";
import type { Place, StreamSource } from "./source.ts";
import type { Topics } from "./topics.ts";

export interface StreamScopeParts {
  readonly topics: Topics;
  /** The place that the client resumes from; undefined: it follows for the first time, or cannot resume. */
  readonly after: Place | undefined;
  /** Has the signal that aborts when the stream ends; looked at late, since it may be made only then. */
  readonly stop: { readonly signal: AbortSignal };
  /** Of numbered sources that name none: the store's. */
  readonly epoch: string;
}

/** What a handler returned that knows how to be served with numbers. */
abstract class Resumable<Item> implements AsyncIterable<Item> {
  /** Opens it, from where the client resumes. */
  abstract open(schema: DescMessage): StreamSource | Promise<StreamSource>;
  abstract [Symbol.asyncIterator](): AsyncIterator<Item>;
}

/** Whether a handler has returned what its context gave it to follow, and does nothing more by itself. */
export function isFollowed(returned: unknown): boolean {
  return returned instanceof Resumable;
}

export class StreamScope implements Pick<StreamContext, "follow" | "numbered"> {
  readonly #parts: StreamScopeParts;
  /** What was opened, with the source that is served; that one closes what it came from. */
  readonly #toClose: { close(): void }[] = [];

  constructor(parts: StreamScopeParts) {
    this.#parts = parts;
  }

  readonly follow: StreamContext["follow"] = <Item extends DescMessage>(
    topic: AnyTopic<Item>,
    options: FollowOptions = {},
  ) => {
    const { topics, after } = this.#parts;
    const { backlog = 0 } = options;
    if (!(Number.isInteger(backlog) && backlog >= 0)) {
      throw new RangeError(`holdfast: backlog is ${String(backlog)}, it must be a whole number from 0.`);
    }
    // Before the handler reads anything else: what is published from now on comes.
    const follower = topics.nameOf(topic).follow(after, backlog);
    const followed = new Followed<Item>(
      follower as TopicFollower<Item> | Promise<TopicFollower<Item>>,
      this.#parts.stop,
    );
    this.#toClose.push(followed);
    return followed;
  };

  readonly numbered: StreamContext["numbered"] = (source) => new Numbered(source, this.#parts);

  /** Serves what the handler returned. Rejects with what went wrong when it was opened. */
  async serve(returned: AsyncIterable<unknown>, schema: DescMessage): Promise<StreamSource> {
    const source =
      returned instanceof Resumable
        ? await returned.open(schema)
        : new IteratedSource({
            schema,
            items: returned as AsyncIterable<MessageInitShape<DescMessage>>,
            at: undefined,
            restarted: this.#parts.after !== undefined,
          });
    const at = this.#toClose.indexOf(returned as { close?: () => void } as { close(): void });
    this.#toClose.splice(at < 0 ? this.#toClose.length : at, 1, source);
    return source;
  }

  /** Whether nothing is to be closed but the source: then nobody needs this scope any more. */
  get onlySource(): boolean {
    return this.#toClose.length === 1;
  }

  /** The stream has ended. */
  close(): void {
    for (const one of this.#toClose) one.close();
  }
}

/** Of a reader of bare messages, which no client of ours is. */
const lagged = {
  code: Code.Unavailable,
  text: "the reader was too slow",
  advice: "Follow again from now on; a generated client goes on where it was.",
};

class Followed<Item extends DescMessage> extends Resumable<MessageShape<Item>> {
  readonly #follower: TopicFollower<Item> | Promise<TopicFollower<Item>>;
  readonly #stop: StreamScopeParts["stop"];

  constructor(follower: TopicFollower<Item> | Promise<TopicFollower<Item>>, stop: StreamScopeParts["stop"]) {
    super();
    this.#follower = follower;
    this.#stop = stop;
    if (follower instanceof Promise) follower.catch(() => undefined); // told to who opens it
  }

  open(): StreamSource | Promise<StreamSource> {
    return this.#follower;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MessageShape<Item>> {
    const { signal } = this.#stop;
    const follower = await this.#follower;
    try {
      while (!signal.aborted) {
        const batch = follower.takeBatch();
        if (batch === "lagged") throw errorOf("LAGGED", lagged, undefined, {});
        if (batch === "nothing") await woken(follower, signal);
        else for (const item of batch.items) if (!item.lost) yield item.message;
      }
    } finally {
      follower.close();
    }
  }

  close(): void {
    if (!(this.#follower instanceof Promise)) this.#follower.close();
    else
      this.#follower.then(
        (follower) => follower.close(),
        () => undefined,
      );
  }
}

class Numbered<Item> extends Resumable<Item> {
  readonly #source: NumberedSource<Item>;
  readonly #parts: StreamScopeParts;

  constructor(source: NumberedSource<Item>, parts: StreamScopeParts) {
    super();
    this.#source = source;
    this.#parts = parts;
  }

  async open(schema: DescMessage): Promise<StreamSource> {
    const { after, stop } = this.#parts;
    const { begin, oldest, epoch = this.#parts.epoch } = this.#source;
    const known = after?.epoch === epoch ? after : undefined;
    const beforeOldest = after === undefined ? 0 : wholeNumber("oldest", (await oldest?.()) ?? 1) - 1;
    const resumes = known !== undefined && known.seq >= beforeOldest;
    const first = after === undefined ? wholeNumber("begin", (await begin?.()) ?? 0) : beforeOldest;
    const seq = resumes ? known.seq : first;
    const items = this.#source.after(seq, stop.signal) as AsyncIterable<NumberedItem>;
    return new IteratedSource({
      schema,
      items,
      at: { epoch, seq },
      restarted: after !== undefined && !resumes,
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    const { after, begin } = this.#source;
    for await (const [, item] of after((await begin?.()) ?? 0, this.#parts.stop.signal)) yield item;
  }
}

function wholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`ctx.numbered: ${name} gave ${String(value)}, it must be a whole number from 0.`);
}

/** Resolves when there may be more, or the signal aborts. */
function woken(follower: TopicFollower, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    follower.wait(done);
  });
}
