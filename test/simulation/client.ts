/** A client of the simulation: one program, whose processes are killed and started again. */
import { type Clock, sleep } from "../../runtime/base/clock.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { SimulatedFolder } from "../../runtime/testing/simulated-folder.ts";
import type { SimulatedNetwork } from "../../runtime/testing/simulated-network.ts";
import { type SimulatedProcess, simulatedProcess } from "../../runtime/testing/simulated-process.ts";
import { testLink } from "../../runtime/testing/test-link.ts";
import { type Build, noteOf, type Schema, schemaOf } from "./builds.ts";
import type { Ended, History } from "./history.ts";
import { anonymous } from "./lists-server.ts";
import { callHeld, type Held, Holder } from "./holder.ts";
import type { ClientPlan } from "./plan.ts";
import { type HoldPlan, isHeld, type Op } from "./workload.ts";

export interface ClientParts {
  readonly clock: Clock;
  readonly network: SimulatedNetwork;
  readonly folder: SimulatedFolder;
  readonly history: History;
  readonly random: SeededRandom;
  readonly plan: ClientPlan;
  readonly number: number;
  /** Whether it gives signs of life. */
  readonly beats: boolean;
  /** What it holds by now. */
  /** Of its first process; undefined: nobody says which build it is. */
  readonly build: Build | undefined;
  readonly holds: () => readonly HoldPlan[];
  /** The token of a person as of now; `fresh`: the server has refused the last one. */
  readonly tokenOf: (person: string, fresh: boolean) => string;
}

export class Client {
  person: string | undefined;
  /** Of the next process. */
  build: Build | undefined;
  process: SimulatedProcess | undefined;
  link: Link | undefined;
  /** What the process of now knows. */
  #schema: Schema;
  /** What the process of now holds. */
  holder: Holder | undefined;
  /** Operations of the process of now that have not ended. */
  readonly open = new Set<Op>();
  readonly #parts: ClientParts;
  #lives = 0;
  #wake: () => void = () => undefined;
  /** Whether it is to run: who is asked to start while the process of before leaves does so after that. */
  #wanted = false;
  /** The process that is closing its link. */
  #leaving: SimulatedProcess | undefined;
  /** Streams of the process of now that have not ended. */
  readonly #streams = new Set<string>();
  /** The question to a token source that has no answer yet. */
  #asking: { readonly process: SimulatedProcess } | undefined;

  constructor(parts: ClientParts) {
    this.#parts = parts;
    this.person = parts.plan.person;
    this.build = parts.build;
    this.#schema = schemaOf(parts.build ?? 1);
  }

  get name(): string {
    return this.process?.name ?? `c${this.#parts.number}`;
  }

  start(): void {
    this.#wanted = true;
    if (this.process !== undefined) return;
    const { clock, network, folder, history, random, plan, number } = this.#parts;
    this.#lives += 1;
    const process = simulatedProcess(clock, `c${number}.${this.#lives}`);
    const { build } = this;
    const schema = schemaOf(build ?? 1);
    this.#schema = schema;
    if (build !== undefined) history.add({ kind: "program", name: process.name, build });
    const { link, wake } = testLink(network, {
      process,
      random: random.fork(process.name),
      format: plan.format,
      session: process.name,
      calls: plan.calls,
      codec: plan.codec,
      sharedStreams: plan.sharedStreams,
      outbox: { store: folder.open(process) },
      ...(build === undefined ? {} : { build: `${build}.0.0` }),
      ...(plan.person === undefined
        ? {}
        : { token: ({ rejected }) => this.#token(process, rejected !== undefined) }),
    });
    this.process = process;
    this.link = link;
    this.#wake = wake;
    let state: string = link.state.value.kind;
    link.state.subscribe(({ kind }) => {
      history.add({ kind: "state", client: process.name, from: state, to: kind });
      state = kind;
    });
    link.outbox.onSettled((settlement) => {
      const outcome = settlement.kind === "reply" ? "ran" : settlement.outcome;
      history.add({ kind: "settled", client: process.name, callId: settlement.callId, outcome });
    });
    if (this.#parts.beats) link.beat(schema.Lists.alive, () => ({}));
    const holder = new Holder(clock, process, link, history, schema);
    this.holder = holder;
    for (const hold of this.#parts.holds()) holder.hold(hold);
  }

  /** The platform says that the network may be back, if it is still this process. */
  woken(process: SimulatedProcess): void {
    if (process === this.process) this.#wake();
  }

  kill(): void {
    this.process?.kill();
    for (const stream of this.#streams) {
      this.#parts.history.add({ kind: "left", stream, text: "its process is gone" });
    }
    this.#streams.clear();
    this.process = undefined;
    this.link = undefined;
    this.holder = undefined;
    this.open.clear();
  }

  /** Holds what it does not hold yet. */
  rehold(): void {
    const { process, holder } = this;
    if (process === undefined || holder === undefined) return;
    process.run(() => {
      if (holder === this.holder) for (const hold of this.#parts.holds()) holder.hold(hold);
    });
  }

  release(id: number): void {
    const { process, holder } = this;
    process?.run(() => holder?.release(id));
  }

  /** Its program ends by itself: its link is closed first, and has nothing left to do a moment later. */
  leave(): void {
    const { process, link } = this;
    if (process === undefined || link === undefined || process === this.#leaving) return;
    this.#leaving = process;
    const { history } = this.#parts;
    history.add({ kind: "leaves", client: process.name });
    this.holder = undefined;
    this.#wanted = false;
    const end = (): void => {
      if (process !== this.process) return;
      const { timerCount } = process;
      const text = `${process.name} has closed its link, and ${timerCount} timers are left`;
      // What its program asks of a closed link still takes a moment to be refused.
      if (timerCount > 0 && this.open.size === 0) history.add({ kind: "fault", text });
      this.kill();
      if (this.#wanted) this.start();
    };
    // By its own clock, which stands still while its machine sleeps. What it was told of while it stood still, it has a
    // moment to refuse.
    const own = process.clock;
    process.run(() => void link.close().then(() => own.timer(leaveMs, () => void own.timer(refuseMs, end))));
  }

  /** Another person signs in; who signed in nowhere stays nobody. */
  changePerson(person: string): void {
    if (this.person === undefined) return;
    this.person = person;
    // Nobody waits for the token of the one before.
    this.#asking = undefined;
    this.link?.signIn();
  }

  /** Reads a stream until it ends, some of them slowly. */
  async #follow(op: Op, process: SimulatedProcess, link: Link): Promise<void> {
    const { clock, history } = this.#parts;
    const { list, thinkMs } = op;
    const name = `${process.name} stream ${op.id}`;
    const abort = new AbortController();
    if (op.abortAfterMs !== undefined) clock.timer(op.abortAfterMs, () => process.run(() => abort.abort()));
    history.add({ kind: "opened", stream: name, list });
    this.#streams.add(name);
    const left = (text: string): void => {
      if (this.#streams.delete(name)) history.add({ kind: "left", stream: name, text });
    };
    try {
      const stream = link.stream(
        this.#schema.Lists.follow,
        { list },
        {
          signal: abort.signal,
          onGap: ({ count }) => history.add({ kind: "gap", stream: name, count }),
        },
      );
      for await (const { key, note } of stream) {
        history.add({ kind: "item", stream: name, key, note });
        if (thinkMs > 0) await process.hold(sleep(clock, thinkMs));
      }
      left("the loop is over");
    } catch (error) {
      left(String(error).slice(0, 160));
    }
  }

  /** A token source takes its time, and is asked by one at a time. */
  async #token(process: SimulatedProcess, fresh: boolean): Promise<string> {
    const { clock, history, tokenOf } = this.#parts;
    const person = this.person ?? "";
    if (this.#asking?.process === process)
      history.add({ kind: "fault", text: "a token source is asked twice at once" });
    const asking = { process };
    this.#asking = asking;
    await process.hold(sleep(clock, 20));
    if (this.#asking === asking) this.#asking = undefined;
    return tokenOf(person, fresh);
  }

  /** Makes an operation in the process of now, if one runs. */
  act(op: Op): void {
    const { process, link } = this;
    if (process === undefined || link === undefined) return;
    if (op.kind === "follow") {
      process.run(() => void this.#follow(op, process, link));
      return;
    }
    const { clock, history } = this.#parts;
    const schema = this.#schema;
    // Its program knows of no such thing.
    if (schema.build === 1 && (op.kind === "stamp" || op.kind === "mark")) return;
    const { open, holder } = this;
    // Its program has released what it is about, or does not hold it yet.
    const held = isHeld(op) ? holder?.get(Number(op.list)) : undefined;
    if (isHeld(op) && held === undefined) return;
    history.add({ kind: "invoked", op, client: process.name, person: this.person ?? anonymous });
    open.add(op);
    const abort = new AbortController();
    if (op.abortAfterMs !== undefined) clock.timer(op.abortAfterMs, () => process.run(() => abort.abort()));
    const end = (ended: Ended): void => {
      if (!process.alive) return;
      open.delete(op);
      history.add({ kind: "ended", op, ended });
    };
    process.run(() => {
      call(link, schema, held, op, {
        signal: abort.signal,
        timeoutMs: op.budgetMs,
        ...(op.merge ? { onMerged: (callId) => history.add({ kind: "merged", op, callId }) } : {}),
      }).then(
        ({ place, by, note }) => end({ kind: "reply", place, by, note }),
        (error: unknown) => end(errorOf(error)),
      );
    });
  }
}

/** A WebSocket waits for 2 s for the other end's word that it is closed. */
const leaveMs = 2_500;
/** An outbox may have to write for it. */
const refuseMs = 200;

interface Reply {
  readonly place?: number | undefined;
  readonly by?: string | undefined;
  readonly note?: string | undefined;
}

interface Options {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onMerged?: (callId: string) => void;
}

async function call(
  link: Link,
  { Lists, build }: Schema,
  held: Held | undefined,
  op: Op,
  options: Options,
): Promise<Reply> {
  if (held !== undefined) return callHeld(held, op, options);
  const { key, thinkMs, list, outbox, merge, refuse } = op;
  switch (op.kind) {
    case "append":
      return link.call(
        { ...Lists.append, outbox, merge },
        { key, list, refuse, thinkMs, ...(build === 2 ? { note: noteOf(key) } : {}) },
        options,
      );
    case "whisper":
      return link.call({ ...Lists.whisper, outbox }, { key, thinkMs }, options);
    case "stamp":
      return link.call({ ...Lists.stamp, outbox }, { key, thinkMs }, options);
    case "pay":
      return link.call(Lists.pay, { key, thinkMs }, options);
    case "send":
      return link.call({ ...Lists.send, outbox }, { key, thinkMs }, options);
    case "shout":
      return link.call(Lists.shout, { key, thinkMs }, options);
    case "read":
      return { place: (await link.call(Lists.read, { list }, options)).length };
    case "follow":
      throw new TypeError("a stream is no call");
    case "poke":
      await link.call(Lists.poke, {}, options);
      return {};
    case "put":
    case "knock":
    case "look":
    case "mark":
    case "push":
      throw new TypeError("it is called on what is held");
  }
}

function errorOf(error: unknown): Ended {
  if (!(error instanceof HoldfastError)) {
    return { kind: "error", outcome: undefined, reason: undefined, callId: undefined, text: String(error) };
  }
  const { outcome, reason, callId, rawMessage } = error;
  return { kind: "error", outcome, reason, callId, text: rawMessage.slice(0, 120) };
}
