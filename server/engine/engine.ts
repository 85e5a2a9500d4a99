/**
 * An engine: a server's own state, which follows from a log of records. For servers without a database of their
 * own whose commands must still run once, survive the process, and be seen in one order.
 *
 * ```ts
 * const rules = engine(Board, { state: BoardStateSchema, records: [...], commands: {...}, apply });
 * const board = await rules.open(store);
 * server.implement(Board, board.handlers({ list: () => ({ items: board.state.items }) }));
 * ```
 *
 * What to do is said apart from where it is kept, so that the rules are a constant which tests open on a store in
 * memory and a server on a file.
 *
 * Source: design "The engine: state from a log"; reliability invariant I15.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";
import { type Clock, systemClock } from "../../runtime/base/clock.ts";
import { type Log, silentLog } from "../../runtime/base/log.ts";
import type { Store } from "../store/store.ts";
import { Checkpoints } from "./checkpoints.ts";
import { Copies } from "./copies.ts";
import { boundMethods, type Command, commandsOf, handlerOf } from "./commands.ts";
import { createFold } from "./fold.ts";
import { type Feed, Feeds } from "./feeds.ts";
import { type Applied, Listeners } from "./listeners.ts";
import { openLog } from "./open-log.ts";
import { hasUnknownFields, RecordTypes } from "./record.ts";
import type { AnyService, EngineRules, HandlersOf } from "./rules.ts";
import { readStart, type StartReport } from "./start.ts";
import { Writer, type WriterParts } from "./writer.ts";

export interface EngineOpenOptions {
  /**
   * `checkpoint` starts from the newest one; `log` applies every envelope from the first, which comes to the same
   * and takes longer: for a check, or after `apply` was wrong. Default: checkpoint.
   */
  readonly from?: "checkpoint" | "log";
  /**
   * Whether envelopes are dropped that are in a checkpoint and older than calls are kept. Default: true for a
   * store in memory, which would grow without end, else false.
   */
  readonly trim?: boolean;
  /** Hears of damage, and of checkpoints that could not be made. Default: says nothing. */
  readonly log?: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** An engine on its store. */
export interface Engine<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Names extends PropertyKey,
> {
  /** The state with every command that is durable. Look at it, and never change it. */
  readonly state: MessageShape<State>;
  /** The number of the last command in it; 0 at the beginning. */
  readonly seq: number;
  /** What the start read. */
  readonly start: StartReport;
  /** The service's handlers: those of the engine's commands, and the given ones of its other methods. */
  handlers(others: Omit<HandlersOf<Service>, Names>): HandlersOf<Service>;
  /**
   * Calls back for each command in their order, once it is durable and in {@link state}, and before it is
   * answered. Gives the function that stops it. What streams are to follow over a restart is published by
   * {@link feed}: a process that ends between a commit and this call would leave it out.
   */
  subscribe(listener: (applied: Applied<MessageShape<Record>>) => void): () => void;
  /**
   * Publishes what each command did: calls back inside the transaction of a command that wrote records, and what is
   * published there is in the same commit. Followers of a durable topic have each item once and in order, whatever
   * ends when. What `feed` throws undoes the command. Called once for a command, and not at a start. Gives the function
   * that stops it.
   *
   * ```ts
   * board.feed(({ records }, { publish }) => {
   *   for (const record of records) publish(happened, itemOf(record));
   * });
   * ```
   */
  feed(feed: Feed<MessageShape<Record>, MessageShape<State>>): () => void;
  /** Makes a checkpoint now. Rejects with the store's error. */
  checkpoint(): Promise<void>;
}

/** An engine's rules, which run where they are opened. */
export interface EngineDefinition<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Names extends PropertyKey,
> {
  /**
   * Reads the state from a store, the one that the server gets too. An engine of one name is opened once a store.
   *
   * @throws StoreError as a rejection: the log is damaged elsewhere than at its end, or has a record that this
   * build cannot apply. It says which, and what to do.
   * @throws TypeError as a rejection for a store that can hold no log.
   */
  open(store: Store, options?: EngineOpenOptions): Promise<Engine<Service, State, Record, Names>>;
}

/**
 * Makes an engine of a service's rules.
 *
 * @throws TypeError for a name in `commands` that is no command of the service, or has effects elsewhere.
 * @throws RangeError for `checkpointEvery` below 1.
 */
export function engine<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Notes,
>(
  service: Service,
  rules: EngineRules<Service, State, Record, Notes>,
): EngineDefinition<Service, State, Record, keyof Notes> {
  const commands = commandsOf(service, rules.commands);
  const checkpointEvery = rules.checkpointEvery ?? defaultCheckpointEvery;
  if (!(checkpointEvery >= 1)) {
    throw new RangeError(`holdfast: checkpointEvery is ${String(checkpointEvery)}, it must be 1 or more.`);
  }
  return {
    open: (store, options = {}) => openEngine({ service, rules, commands, checkpointEvery, store, options }),
  };
}

const defaultCheckpointEvery = 10_000;

interface Opening<Service extends AnyService, State extends DescMessage, Record extends DescMessage, Notes> {
  readonly service: Service;
  readonly rules: EngineRules<Service, State, Record, Notes>;
  readonly commands: readonly Command[];
  readonly checkpointEvery: number;
  readonly store: Store;
  readonly options: EngineOpenOptions;
}

async function openEngine<
  Service extends AnyService,
  State extends DescMessage,
  Record extends DescMessage,
  Notes,
>(opening: Opening<Service, State, Record, Notes>): Promise<Engine<Service, State, Record, keyof Notes>> {
  const { service, rules, store, options } = opening;
  const { clock = systemClock, log: says = silentLog, from = "checkpoint" } = options;
  const name = rules.name ?? service.$service.typeName;
  const { log, tx } = await openLog(store, name);
  const types = new RecordTypes(rules.records);
  const fold = createFold(types, (state: MessageShape<State>, record, origin) => {
    rules.apply(state, record, origin);
  });
  const start = await readStart({
    name,
    store,
    log,
    schema: rules.state,
    initial: rules.initial,
    fold: (state, envelope) => fold(state, envelope).some(hasUnknownFields),
    from,
    nowMs: Math.floor(clock.now()),
    says,
  });
  const copies = new Copies(rules.state, (state, envelope) => void fold(state, envelope), start);
  const checkpoints = new Checkpoints({
    name,
    store,
    log,
    copies,
    stateType: rules.state.typeName,
    every: opening.checkpointEvery,
    lastSeq: start.report.checkpointSeq,
    trim: options.trim ?? !store.facts.durable,
    newer: start.newer,
    clock,
    says,
  });
  const listeners = new Listeners(types, (error) =>
    says.error(`engine ${name}: a listener failed`, { error }),
  );
  const durable = (envelope: RecordEnvelope): void => {
    checkpoints.passed();
    listeners.tell(envelope);
  };
  const feeds = new Feeds<Record, MessageShape<State>>(types);
  const feed: WriterParts["feed"] = (envelope, publish) =>
    feeds.tell(envelope, { state: copies.working.state, publish });
  const writer = new Writer({ name, store, log, tx, copies, types, clock, says, feed, durable });
  return {
    get state() {
      return copies.written.state;
    },
    get seq() {
      return copies.written.seq;
    },
    start: start.report,
    handlers: (others) =>
      ({ ...boundMethods(service, others), ...ownHandlers(opening.commands, writer) }) as HandlersOf<Service>,
    subscribe: (listener) => listeners.add(listener),
    feed: (its) => feeds.add(its),
    checkpoint: () => checkpoints.make(),
  };
}

/** The handlers of an engine's commands, by their names. */
function ownHandlers(commands: readonly Command[], writer: Writer): object {
  return Object.fromEntries(
    commands.map(({ name, definition, rules }) => [name, handlerOf(writer.command(definition, rules))]),
  );
}
