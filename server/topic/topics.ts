/**
 * The topics of a server, by method and key.
 *
 * What a program holds is a name: the state behind it is made when somebody publishes or follows, and goes again
 * when nobody has for long, so that a topic for each of a million threads costs nothing. A memory topic that comes
 * back has a new epoch, so that who followed it before is told; a durable one is as it was, from the store.
 *
 * Source: design "Streams: The server".
 */
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "../../runtime/base/clock.ts";
import type { StreamDefinition } from "../../runtime/base/definition.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Random } from "../../runtime/base/random.ts";
import type { AnyTopic, DurableTopic, Topic } from "../../runtime/base/topics.ts";
import type { Store } from "../store/store.ts";
import { DurableState } from "./durable-state.ts";
import type { TopicFollower } from "./follower.ts";
import { itemBytes } from "./item.ts";
import { LiveTopic } from "./live-topic.ts";
import { shelfIn } from "./open-shelf.ts";
import type { TopicShelf } from "./shelf.ts";
import type { Place } from "./source.ts";

/** A memory topic that nobody has followed or published to for this long may go. */
export const topicIdleMs = 3_600_000;
const keyCharsMost = 1_024;
/** 64 bits. */
const epochBytes = 8;

export interface TopicsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type AnyStream = StreamDefinition;

/** The state of a topic in this process. */
type State =
  | { readonly durable: false; readonly live: LiveTopic; usedAtMs: number }
  | { readonly durable: true; readonly live: DurableState; usedAtMs: number };

export class Topics {
  readonly #parts: TopicsParts;
  /** The longest unused tend to be first: see {@link #sweep}. */
  readonly #states = new Map<string, State>();
  #shelf: TopicShelf | undefined;
  #opening: Promise<TopicShelf> | undefined;

  constructor(parts: TopicsParts) {
    this.#parts = parts;
  }

  /** How many topics have a state in memory. */
  get count(): number {
    return this.#states.size;
  }

  /**
   * Names a topic.
   *
   * @throws TypeError for a definition that is no stream's, and a key that is no text of at most 1,024 characters.
   */
  topic(definition: AnyStream, key: string, durable: boolean): MemoryName | DurableName {
    if ((definition as { kind?: string } | undefined)?.kind !== "stream") {
      throw new TypeError(
        "holdfast: a topic belongs to a method with the annotation stream, such as Board.tail.",
      );
    }
    if (typeof key !== "string" || key.length > keyCharsMost) {
      throw new TypeError(`holdfast: a topic's key is text of at most ${keyCharsMost} characters.`);
    }
    if (!durable) return new MemoryName(this, definition, key);
    void this.shelf().catch((error: unknown) => {
      this.#parts.log.warn("a durable topic cannot be opened yet", { error });
    });
    return new DurableName(this, definition, key);
  }

  /** The topic that a program names. @throws TypeError for one of another server. */
  nameOf(topic: AnyTopic): MemoryName | DurableName {
    const known = topic instanceof MemoryName || topic instanceof DurableName;
    if (known && topic.topics === this) return topic;
    throw new TypeError("holdfast: this is no topic of this server. Make topics with server.topic.");
  }

  memory(name: MemoryName): LiveTopic {
    const state = this.#state(name, () => ({
      durable: false,
      usedAtMs: this.#parts.clock.monotonic(),
      live: new LiveTopic({ ...this.#shape(name), epoch: this.#newEpoch(), lastSeq: 0 }),
    }));
    if (!state.durable) return state.live;
    throw otherKind(name, "with");
  }

  durable(name: DurableName): DurableState {
    const { store, clock, log } = this.#parts;
    const state = this.#state(name, () => ({
      durable: true,
      usedAtMs: clock.monotonic(),
      live: new DurableState({
        ...this.#shape(name),
        epoch: store.facts.epoch,
        read: async (afterSeq, bounds) => {
          const shelf = await this.shelf();
          return store.write(() => shelf.read(name.name, afterSeq, bounds));
        },
        failed: (error) => log.warn("a topic could not be read from the store", { topic: name.name, error }),
      }),
    }));
    if (state.durable) return state.live;
    throw otherKind(name, "without");
  }

  /** The state of a durable topic, where there is one. */
  knownDurable(name: DurableName): DurableState | undefined {
    const state = this.#states.get(name.name);
    return state?.durable === true ? state.live : undefined;
  }

  /** Opens the shelf once. Rejects with the store's error, and then may be tried again. */
  shelf(): Promise<TopicShelf> {
    const { store } = this.#parts;
    this.#opening ??= store
      .write((tx) => shelfIn(store, tx))
      .then(
        (shelf) => (this.#shelf = shelf),
        (error: unknown) => {
          this.#opening = undefined;
          throw error;
        },
      );
    return this.#opening;
  }

  /** The shelf, inside a transaction that may be the first one. */
  shelfIn(tx: unknown): TopicShelf {
    return this.#shelf ?? shelfIn(this.#parts.store, tx);
  }

  async publishDurably(name: DurableName, bytes: Uint8Array): Promise<number> {
    const shelf = await this.shelf();
    const { keepCount } = name.definition;
    try {
      const seq = await this.#parts.store.write(() => shelf.append(name.name, bytes, keepCount));
      this.knownDurable(name)?.stands(seq, bytes);
      return seq;
    } catch (error) {
      this.knownDurable(name)?.doubt();
      throw error;
    }
  }

  #shape({ definition }: MemoryName | DurableName): {
    schema: DescMessage;
    keepCount: number;
    roomCount: number;
  } {
    return {
      schema: definition.method.output,
      keepCount: definition.keepCount,
      roomCount: definition.roomCount,
    };
  }

  #state({ name }: MemoryName | DurableName, make: () => State): State {
    let state = this.#states.get(name);
    if (state === undefined) {
      this.#sweep();
      state = make();
      this.#states.set(name, state);
    }
    state.usedAtMs = this.#parts.clock.monotonic();
    return state;
  }

  /** Looks at two of the oldest for each new one: so many never outnumber those in use for long. */
  #sweep(): void {
    const nowMs = this.#parts.clock.monotonic();
    let lookCount = 0;
    for (const [name, state] of this.#states) {
      if (lookCount >= 2) return;
      lookCount += 1;
      this.#states.delete(name);
      if (!isIdle(state, nowMs)) this.#states.set(name, state);
    }
  }

  #newEpoch(): string {
    return Buffer.from(this.#parts.random.bytes(epochBytes)).toString("base64url");
  }
}

function isIdle(state: State, nowMs: number): boolean {
  if (state.durable) return state.live.idle;
  return state.live.followerCount === 0 && nowMs - state.usedAtMs >= topicIdleMs;
}

function otherKind({ name }: MemoryName | DurableName, how: "with" | "without"): TypeError {
  return new TypeError(
    `holdfast: the topic ${name} was made ${how} { durable: true } before. Make it the same everywhere.`,
  );
}

/** What both kinds of topic have: a program's name for a topic of one server. */
abstract class TopicName {
  readonly topics: Topics;
  readonly definition: AnyStream;
  readonly key: string;
  /** Of method and key, for the store and for logs. */
  readonly name: string;

  constructor(topics: Topics, definition: AnyStream, key: string) {
    const { method } = definition;
    this.topics = topics;
    this.definition = definition;
    this.key = key;
    this.name = `${method.parent.typeName}.${method.name}/${key}`;
  }

  /** The bytes of an item of this topic. */
  bytesOf(message: MessageInitShape<DescMessage>): Uint8Array {
    return itemBytes(this.definition.method.output, message);
  }

  abstract follow(after: Place | undefined, backlog: number): TopicFollower | Promise<TopicFollower>;
}

export class MemoryName extends TopicName implements Topic {
  readonly durable = false;

  publish(message: MessageInitShape<DescMessage>): number {
    return this.topics.memory(this).push(this.bytesOf(message));
  }

  follow(after: Place | undefined, backlog: number): TopicFollower {
    return this.topics.memory(this).follow(after, backlog);
  }
}

export class DurableName extends TopicName implements DurableTopic {
  readonly durable = true;

  async publish(message: MessageInitShape<DescMessage>): Promise<number> {
    return this.topics.publishDurably(this, this.bytesOf(message));
  }

  follow(after: Place | undefined, backlog: number): TopicFollower | Promise<TopicFollower> {
    return this.topics.durable(this).follow(after, backlog);
  }
}
