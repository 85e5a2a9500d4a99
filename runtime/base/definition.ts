/**
 * What generated code says of a service, with every annotation resolved to a number: the runtime parses no
 * options. The kinds of a method are a union, so that each carries only what makes sense for it.
 *
 * Source: design "Schema and generated code".
 */
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { BeatOptions, Heartbeat } from "./heartbeats.ts";
import type { GapMode, PlainStreamOptions, ResumableStream, StreamOptions } from "./streams.ts";

/** When a command without an answer is written down. */
export type OutboxMode = "none" | "late" | "early";

/** Reads and changes nothing; sent again inside its budget. */
export interface QueryDefinition<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "query";
  readonly method: DescMethodUnary<I, O>;
  /** Ms for the whole call; absent: the link's budget. */
  readonly budgetMs?: number;
}

/** Changes something; runs once (`once`) or is sent once (`atMostOnce`). */
export interface CommandDefinition<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "command";
  readonly method: DescMethodUnary<I, O>;
  /** Ms for the whole call; absent: the link's budget. */
  readonly budgetMs?: number;
  /** Absent: `once`. */
  readonly delivery?: "once" | "atMostOnce";
  /** Whether tries carry a call ID. Absent: true; false only for a method without an annotation. */
  readonly callId?: boolean;
  /** Absent: `none`. */
  readonly outbox?: OutboxMode;
  /** Absent: false. */
  readonly merge?: boolean;
  /** Absent: `transaction`. */
  readonly effects?: "transaction" | "external";
  /** Absent: `reply`. */
  readonly keep?: "reply" | "marker";
  /** Ms that one run of the handler may take; absent: the server's limit. */
  readonly handlerMostMs?: number;
  /** Absent: false. */
  readonly requireId?: boolean;
}

/** Worth little on its own; safe to send twice. */
export interface SignalDefinition<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "signal";
  readonly method: DescMethodUnary<I, O>;
  /** Ms for the whole call; absent: the short budget. */
  readonly budgetMs?: number;
}

/** Server-streaming, resumable. */
export interface StreamDefinition<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly kind: "stream";
  readonly method: DescMethodServerStreaming<I, O>;
  /** Items that the server keeps. */
  readonly keepCount: number;
  /** Items that may wait for one reader. */
  readonly roomCount: number;
  /** Ms without a byte after which the connection is given up. */
  readonly idleMs: number;
  /** `resumable` of generated-v1: what a client follows it with. */
  readonly follower: StreamFollower;
}

/** A link, as the code that definitions name gets it. What is in it only that code knows. */
export interface LinkHost {
  /** Its environment: of one link alone. */
  readonly env: object;
}

/**
 * What follows a stream on a link. A definition names it, so that only programs with streams are loaded with the
 * code for them.
 */
export interface StreamFollower {
  // A method, so that a follower may ask for more than LinkHost promises.
  follow<I extends DescMessage, O extends DescMessage, Gaps extends GapMode>(
    host: LinkHost,
    definition: StreamDefinition<I, O>,
    request: MessageInitShape<I>,
    options: StreamOptions<Gaps> | undefined,
  ): ResumableStream<MessageShape<O>, Gaps>;
}

/** The sign of life of a session. */
export interface HeartbeatDefinition<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
> {
  readonly kind: "heartbeat";
  readonly method: DescMethodUnary<I, O>;
  /** Ms between two ticks. */
  readonly everyMs: number;
  /** Ms without a sign after which the session is gone. */
  readonly goneAfterMs: number;
  /** `beating` of generated-v1: what gives it on a link, loaded only by programs that have one. */
  readonly beater: Beater;
}

/** What gives a heartbeat on a link. */
export interface Beater {
  // A method, so that it may ask for more than LinkHost promises.
  start<I extends DescMessage, O extends DescMessage>(
    host: LinkHost,
    definition: HeartbeatDefinition<I, O>,
    makeRequest: () => MessageInitShape<I>,
    onReply: ((reply: MessageShape<O>) => void) | undefined,
    options: BeatOptions | undefined,
  ): Heartbeat;
}

/** A streaming method without an annotation: Connect's own, without resume, budget or repeat. */
export interface PlainStreamDefinition<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
> {
  readonly kind: "plain";
  readonly method:
    | DescMethodServerStreaming<I, O>
    | DescMethodClientStreaming<I, O>
    | DescMethodBiDiStreaming<I, O>;
  /** `connectStreaming` of generated-v1, loaded only by programs with such methods. */
  readonly streamer: PlainStreamer;
}

/** What opens Connect's own streams on a link. */
export interface PlainStreamer {
  // A method, so that it may ask for more than LinkHost promises.
  open<I extends DescMessage, O extends DescMessage>(
    host: LinkHost,
    definition: PlainStreamDefinition<I, O>,
    requests: AsyncIterable<MessageInitShape<I>>,
    options: PlainStreamOptions | undefined,
  ): AsyncIterable<MessageShape<O>>;
}

/** A live value of a held object: the whole value first, then each change. */
export interface StateDefinition<O extends DescMessage = DescMessage> {
  readonly kind: "state";
  readonly method: DescMethodServerStreaming<DescMessage, O>;
}

/** A method that is one request and one reply. */
export type UnaryDefinition<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> =
  | QueryDefinition<I, O>
  | CommandDefinition<I, O>
  | SignalDefinition<I, O>
  | HeartbeatDefinition<I, O>;

/** Any method. */
export type MethodDefinition = UnaryDefinition | StreamDefinition | PlainStreamDefinition;

/** What a held object can have. */
export type MemberDefinition = QueryDefinition | CommandDefinition | SignalDefinition | StateDefinition;

/**
 * A service. Generated code adds one member for each method, under the method's TypeScript name; the
 * service's own members start with `$`, which no method's name does.
 *
 * @typeParam Handlers - what a server implements; a type alone, no value stands behind it.
 */
export interface ServiceDefinition<Handlers = unknown> {
  readonly $service: DescService;
  /** Every method by its TypeScript name. */
  readonly $methods: Readonly<Record<string, MethodDefinition>>;
  /** Never set: it ties the handlers' type to the definition. */
  readonly $handlers?: (handlers: Handlers) => void;
}

/** What of an object's members a holder of one kind has. */
export interface VariantDefinition {
  readonly name: string;
  /** TypeScript names, in the schema's order. */
  readonly members: readonly string[];
}

/**
 * A held object: a service whose methods belong to one thing that is named by params. Generated code adds one
 * member for each of `$members`, under its TypeScript name.
 *
 * @typeParam Ref - what a holder gets; a type alone.
 * @typeParam Implementation - what a factory returns; a type alone. It is only ever taken, so that `never` stands
 * for any.
 * @typeParam Variants - for each declared variant by its name, what a holder gets that asks for it; a type alone.
 */
export interface ObjectDefinition<
  Params extends DescMessage = DescMessage,
  Ref = unknown,
  Implementation = never,
  Variants = unknown,
> {
  readonly $service: DescService;
  /** By their TypeScript names, in the schema's order. */
  readonly $members: Readonly<Record<string, MemberDefinition>>;
  readonly $params: Params;
  /** Ms that it stays warm after its last reference. */
  readonly $lingerMs: number;
  /** Ms that a `get` or a parked call waits for it. */
  readonly $readyTimeoutMs: number;
  /** At least one; the last is the default. A schema without variants has one, named "". */
  readonly $variants: readonly VariantDefinition[];
  /** Commands of one reference start one after the other. */
  readonly $serial: boolean;
  /** Never set: they tie the types to the definition. */
  readonly $reference?: () => Ref;
  readonly $implementation?: (implementation: Implementation) => void;
  readonly $variantReferences?: () => Variants;
}

/** Whether a server may be asked to run this twice without harm, or runs it once by its call ID. */
export function isOnce(definition: MethodDefinition): definition is CommandDefinition {
  return definition.kind === "command" && definition.delivery !== "atMostOnce";
}
