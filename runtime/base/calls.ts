/**
 * How generated clients make their calls: the one thing that they need of a link.
 *
 * Source: design "The API of a call".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions as ConnectCallOptions } from "@connectrpc/connect";
import type { PlainStreamDefinition, StreamDefinition, UnaryDefinition } from "./definition.ts";
import type { GapMode, PlainStreamOptions, ResumableStream, StreamOptions } from "./streams.ts";

/** The options of one call: Connect's own, and holdfast's. */
export interface CallOptions extends ConnectCallOptions {
  /**
   * The budget of the whole call in ms, waits and repeats included. Absent, 0 or below: the method's from
   * its schema, then the link's (30 s). `Infinity` and numbers above 2^31-1 work. `NaN` is a TypeError.
   */
  timeoutMs?: number;
  /** The link's short budget (10 s) in place of its budget, for a call that a person waits for. */
  short?: boolean;
  /**
   * For a command with an outbox: the same command with the same request and key, made again while the outbox
   * has it, is the same call. Absent: what the schema's `merge` says, where two equal calls are two commands
   * by default. TypeError for a command without an outbox.
   */
  key?: string;
  /** Called when this call has taken the place of one that waits in the outbox, with that one's call ID. */
  onMerged?: (callId: string) => void;
}

/** What a generated client calls; a link is one. */
export interface Calls {
  /**
   * Makes a call and keeps trying inside its budget.
   *
   * @throws HoldfastError as a rejection, with its reason and which of five outcomes it is.
   */
  call<I extends DescMessage, O extends DescMessage>(
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>>;
  /** A stream that lives through drops. It opens when its loop asks for the first item. */
  stream<I extends DescMessage, O extends DescMessage, Gaps extends GapMode = "tell">(
    definition: StreamDefinition<I, O>,
    request: MessageInitShape<I>,
    options?: StreamOptions<Gaps>,
  ): ResumableStream<MessageShape<O>, Gaps>;
  /** Connect's own streaming on the link's transport. */
  plain<I extends DescMessage, O extends DescMessage>(
    definition: PlainStreamDefinition<I, O>,
    requests: AsyncIterable<MessageInitShape<I>>,
    options?: PlainStreamOptions,
  ): AsyncIterable<MessageShape<O>>;
}
