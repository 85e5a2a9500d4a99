/** Who publishes what an engine's commands did, inside their transactions. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { Publish } from "../../runtime/base/topics.ts";
import { type Applied, appliedOf } from "./listeners.ts";
import type { RecordTypes } from "./record.ts";

/** What a feed gets beside what was applied. */
export interface FeedContext<State> {
  /** The state with this command and all before it. Look at it, and never change it. */
  readonly state: State;
  /** Publishes in the command's transaction. */
  readonly publish: Publish;
}

/** Publishes what a command did. */
export type Feed<Record, State> = (applied: Applied<Record>, context: FeedContext<State>) => void;

export class Feeds<Record extends DescMessage, State> {
  readonly #types: Pick<RecordTypes<Record>, "decode">;
  readonly #feeds = new Set<Feed<MessageShape<Record>, State>>();

  constructor(types: Pick<RecordTypes<Record>, "decode">) {
    this.#types = types;
  }

  add(feed: Feed<MessageShape<Record>, State>): () => void {
    this.#feeds.add(feed);
    return () => void this.#feeds.delete(feed);
  }

  /** What a feed throws goes through, and undoes the command. */
  tell(envelope: RecordEnvelope, context: FeedContext<State>): void {
    for (const feed of this.#feeds) feed(appliedOf(envelope, this.#types), context);
  }
}
