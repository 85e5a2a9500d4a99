/**
 * What a program says of its engine: the state, the records, and what each command does. All of it is plain
 * functions of a state; nothing here knows of calls, stores or time, so it is tested as it stands.
 *
 * A command does not change the state. It looks at it and returns records, the facts that follow; `apply` folds
 * a record in, now and at every later start, and so must come to the same each time: no clock, no chance, nothing
 * from outside. What a record needs of these, `handle` puts into it.
 *
 * Source: design "The engine: state from a log".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CommandDefinition, ServiceDefinition } from "../../runtime/base/definition.ts";
import type { Caller, CommandContext } from "../../runtime/base/handlers.ts";

/** Any service's definition, as the generator writes it. */
export type AnyService = ServiceDefinition<never>;

/** The handlers that a server of the service implements. */
export type HandlersOf<Service extends AnyService> =
  Service extends ServiceDefinition<infer Handlers> ? Handlers : never;

type RequestOf<Method> = Method extends CommandDefinition<infer I> ? MessageShape<I> : never;
type ReplyOf<Method> = Method extends CommandDefinition<DescMessage, infer O> ? MessageInitShape<O> : never;

/** What `handle` gets beside the state and the request. */
export interface HandleContext {
  readonly caller: Caller;
  /** The client's session name; undefined for a client that sends none. */
  readonly session: string | undefined;
  /** Undefined for a plain client that sent none. */
  readonly callId: string | undefined;
  /** The time of the command in ms since 1970, never before that of the command before it. */
  readonly nowMs: number;
  readonly log: CommandContext["log"];
}

/** What `apply` gets beside the state and the record. */
export interface Origin {
  /** The number of the command in the log, from 1. */
  readonly seq: number;
  /** When it was decided, in ms since 1970. */
  readonly atMs: number;
  /** Who asked; undefined: anonymous. */
  readonly by: string | undefined;
}

/** What an accepted command comes to. */
export interface Accepted<Fact, Note> {
  /** What happened, in order. Absent or empty: nothing, which is kept with the call too. */
  readonly records?: readonly Fact[];
  /** Something for this call's replies that is no fact. Absent: the command's own `note`. */
  readonly note?: Note;
}

/** What `reply` makes its reply from. */
export interface Done<Fact, Note, Request> {
  /** The records that this call wrote, as they are in the log. */
  readonly records: readonly Fact[];
  /** What `handle` returned, while this process remembers it; else the command's own `note`. */
  readonly note: Note;
  /** The request of this try; it says the same as the first one. */
  readonly request: Request;
}

/** One command's rules. */
export interface EngineCommand<State, Fact, Request, Reply, Note> {
  /**
   * Checks, and returns what happens; changes nothing. Throws a ConnectError such as `failed_precondition` to
   * refuse, which is kept with the call. Synchronous: no other command comes in between.
   */
  handle(state: State, request: Request, context: HandleContext): Accepted<Fact, NoInfer<Note>>;
  /**
   * Makes the reply on the state of now, for the first try and for each repeat: what has changed since shows.
   * Changes nothing.
   */
  reply(state: State, done: Done<Fact, Note, Request>): Reply;
  /**
   * The note of a call whose own is not remembered, such as after a start; it says the type of the command's
   * notes. Absent: undefined, and a note is of any type.
   */
  readonly note?: Note;
}

/** The commands of a service that an engine takes, each with the type of its note. */
export type EngineCommands<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Notes,
> = {
  readonly [Name in keyof Notes]: EngineCommand<
    MessageShape<State>,
    MessageShape<Record>,
    Name extends keyof Service["$methods"] ? RequestOf<Service["$methods"][Name]> : never,
    Name extends keyof Service["$methods"] ? ReplyOf<Service["$methods"][Name]> : never,
    Notes[Name]
  >;
};

/** Everything that makes an engine. */
export interface EngineRules<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Notes,
> {
  /**
   * Names the log in its store, which may hold those of several engines. Never change it: another name is an
   * empty log. Default: the service's full name.
   */
  readonly name?: string;
  /** The message that the state is. */
  readonly state: State;
  /** The state before the first command. Never change it: every log starts from it. Default: the empty message. */
  readonly initial?: MessageInitShape<State>;
  /** Every message that is or ever was a record. One that is no longer written stays listed, and applied. */
  readonly records: readonly Record[];
  /** The commands that the engine runs; other methods of the service get handlers at {@link Engine.handlers}. */
  readonly commands: EngineCommands<Service, State, Record, Notes>;
  /**
   * Folds a record into the state, by changing it. It must come to the same in every run and every later build,
   * and takes what `handle` has let through: a record that is in the log has happened.
   */
  apply(state: MessageShape<State>, record: MessageShape<Record>, origin: Origin): void;
  /** Commands between two checkpoints, 1 or more. A start applies at most about as many. Default 10,000. */
  readonly checkpointEvery?: number;
}

/** Rules whose types nobody asks for any more. */
export interface PlainCommand {
  handle(state: unknown, request: unknown, context: HandleContext): Accepted<unknown, unknown>;
  reply(state: unknown, done: Done<unknown, unknown, unknown>): unknown;
  readonly note?: unknown;
}
