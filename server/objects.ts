/**
 * The objects that a server serves: a host whose commands go through the journal, and whose holders come over the
 * server's wires.
 *
 * A call on an object passes what a call of a service passes: is the server open, and is it the call's turn. What
 * it is compared by, when it comes again, includes the object: the same ID for another one is another request.
 *
 * Source: design "Server: What a user writes", "Held objects: Parking"; D47.
 */
import { create, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../runtime/base/clock.ts";
import { deadlineAfter } from "../runtime/base/deadline.ts";
import type {
  CommandDefinition,
  MethodDefinition,
  ObjectDefinition,
  ServiceDefinition,
  UnaryDefinition,
} from "../runtime/base/definition.ts";
import type { HandlerContext } from "../runtime/base/handlers.ts";
import { reasonFrom } from "../runtime/base/errors.ts";
import { liveError } from "../runtime/base/live-reasons.ts";
import { EitherSignal } from "../runtime/base/either-signal.ts";
import type { Stop } from "../runtime/base/late-signal.ts";
import type { Log } from "../runtime/base/log.ts";
import type { Random } from "../runtime/base/random.ts";
import { onAbort } from "../runtime/base/signals.ts";
import type { ObjectAnswer, ObjectCall } from "../runtime/hold/holding.ts";
import { createHost, type Host, insideOf } from "../runtime/hold/host.ts";
import type { LocalHolding } from "../runtime/hold/local-holding.ts";
import type { ProvidedMethod } from "../runtime/hold/provider-side.ts";
import { ProviderSide } from "../runtime/hold/provider-side.ts";
import { type ObjectCommand, plainRun } from "../runtime/hold/run-call.ts";
import { markOfError } from "./http/answer-mark.ts";
import { errorOfThrow } from "./handler-errors.ts";
import type { Carried } from "./context.ts";
import type { Guest } from "./entrance.ts";
import type { Handler } from "./implement.ts";
import {
  BrokenObject,
  heldForCall,
  type ObjectRpc,
  requestedObject,
  type RpcHost,
  rpcsOf,
  stateValues,
} from "./object-rpcs.ts";
import type { Journal, Running } from "./journal/answer.ts";
import type { Ports } from "./ports.ts";
import type { SignsOfLife } from "./signs-of-life.ts";
import type { Topics } from "./topic/topics.ts";
import { Publishing } from "./topic/publishing.ts";
import { createTransaction } from "./transaction.ts";
import { guestOf, type WireEntranceParts } from "./wire-entrance.ts";
import type { WireAnswer, WireCall, WireObjects } from "./wire/calls.ts";
import type { OpenWire } from "./wire/open-wire.ts";

export interface ServerObjectsParts extends Pick<WireEntranceParts, "refusal" | "admission" | "callerKey"> {
  readonly journal: Journal;
  readonly topics: Topics;
  readonly signsOfLife: () => SignsOfLife;
  /** Whether handlers stand behind a service of this name already. */
  readonly implemented: (typeName: string) => boolean;
  readonly ports: Ports;
  readonly readyTimeoutMs: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A call of a client on an object of this server. */
class GuestCall implements ObjectCall {
  readonly member: string;
  readonly definition: ObjectCall["definition"];
  readonly request: Message;
  readonly callId: string | undefined;
  readonly tries: number;
  readonly deadline: ObjectCall["deadline"];
  readonly guest: Guest;
  readonly waiting: Stop;
  readonly #carried: Pick<Carried, "requestHeader">;
  /** Its handler was called: the turn is the handler's from then on. */
  began = false;

  constructor(
    request: Message,
    carried: Carried,
    { member, definition }: ProvidedMethod,
    guest: Guest,
    clock: Clock,
  ) {
    this.member = member;
    this.definition = definition;
    this.request = request;
    this.callId = guest.call?.id;
    this.tries = guest.call?.lane?.tries ?? 1;
    const leftMs = guest.deadline === undefined ? undefined : guest.deadline - clock.monotonic();
    this.deadline = deadlineAfter(clock, leftMs ?? Number.POSITIVE_INFINITY);
    this.guest = guest;
    this.waiting = carried.stop ?? carried.signal;
    this.#carried = carried;
  }

  get options(): ObjectCall["options"] {
    return { headers: this.#carried.requestHeader };
  }

  whenOver(): void {
    // Nobody of this process asks: it is over when it is answered.
  }
}

export class ServerObjects {
  readonly host: Host;
  readonly #parts: ServerObjectsParts;
  readonly #sides = new WeakMap<OpenWire, ProviderSide>();
  readonly #rpcs = new Map<MethodDefinition, ObjectRpc>();
  /** Calls by their full names, such as "notes.v1.NotebookService.Add". */
  readonly #named = new Map<string, UnaryDefinition>();

  constructor(parts: ServerObjectsParts) {
    this.#parts = parts;
    const { clock, random, log, journal, readyTimeoutMs } = parts;
    // What the server's own code calls on its objects has no client who would ask again: nothing of it is kept.
    const unkept = plainRun(clock, log, ({ definition }) =>
      this.#transactionOf(definition, journal.unkept(definition)),
    );
    this.host = createHost({
      clock,
      random,
      log,
      ...(readyTimeoutMs === undefined ? {} : { readyTimeoutMs }),
      serving: (type) => this.#serving(type),
      run: (command) =>
        command.call instanceof GuestCall && command.call.guest.call !== undefined
          ? this.#runOnce(command, command.call)
          : unkept(command),
    });
  }

  /** A type is served from now on, also at its methods' own paths. */
  #serving(type: ObjectDefinition): void {
    const { typeName } = type.$service;
    if (this.#parts.implemented(typeName)) {
      throw new TypeError(
        `holdfast: ${typeName} is implemented on this server already. Serve it as an object or implement it, not both.`,
      );
    }
    if (this.#parts.ports.mounted) {
      throw new TypeError(
        `holdfast: serve ${typeName} before the routes are mounted, which takes its paths along.`,
      );
    }
    for (const [definition, rpc] of rpcsOf(type)) {
      this.#rpcs.set(definition, rpc);
      if (definition.kind === "stream" || definition.kind === "plain") continue;
      this.#named.set(`${typeName}.${definition.method.name}`, definition);
    }
    this.#parts.ports.grown();
  }

  /** @throws TypeError for a service whose objects are served. */
  assertNotServed(definition: unknown): void {
    const typeName = (definition as Partial<ServiceDefinition> | null | undefined)?.$service?.typeName;
    if (typeName === undefined || insideOf(this.host).definition(typeName) === undefined) return;
    throw new TypeError(
      `holdfast: the objects of ${typeName} are served on this server. Serve it as an object or implement it, not both.`,
    );
  }

  /** Lets a wire hold objects. */
  use(wire: OpenWire): void {
    const { end, guest } = wire;
    const side = new ProviderSide({
      end,
      host: insideOf(this.host),
      caller: () => wire.caller,
      session: guest.session,
      clock: this.#parts.clock,
    });
    this.#sides.set(wire, side);
    wire.onRenewed(() => side.regranted());
  }

  /** The calls of a wire on its objects. */
  of(wire: OpenWire): WireObjects {
    return {
      method: (hold, name) => this.#sides.get(wire)?.method(hold, name)?.definition,
      run: (hold, name, call) => this.#call(wire, hold, name, call),
    };
  }

  async #call(wire: OpenWire, hold: number, name: string, call: WireCall): Promise<WireAnswer> {
    const { refusal } = this.#parts;
    const side = this.#sides.get(wire);
    const holding = side?.holding(hold);
    const method = side?.method(hold, name);
    const command = call.definition.kind === "command";
    const closed = refusal();
    if (closed !== undefined) return refused(closed, command);
    if (holding === undefined || method === undefined) return refused(liveError("NOT_READY"), command);
    return this.#given(method, call.request, call, guestOf(call, this.#parts), () => holding);
  }

  // At their own paths ------------------------------------------------------------------------------------------------

  /** The methods that the served objects have at paths of their own. */
  definitions(): Iterable<MethodDefinition> {
    return this.#rpcs.keys();
  }

  /** The method of a full name, for a call that names its object in a header. */
  named(name: string): UnaryDefinition | undefined {
    return this.#named.get(name);
  }

  /** Whether a request is for an object. */
  has(definition: MethodDefinition): boolean {
    return this.#rpcs.has(definition);
  }

  /** What streams a state; undefined for a method that is no object's. */
  streamOf(definition: MethodDefinition): Handler | undefined {
    const rpc = this.#rpcs.get(definition);
    if (rpc === undefined) return undefined;
    return (_request, context) => {
      const sender = context as HandlerContext;
      return stateValues(requestedObject(rpc.type, sender), rpc.member, sender.signal, this.#rpcHost);
    };
  }

  /** A call at a path of its own: it holds the object for as long as it lasts. Never rejects. */
  async unary(
    definition: UnaryDefinition,
    request: Message,
    carried: Carried,
    guest: Guest,
  ): Promise<WireAnswer> {
    const rpc = this.#rpcs.get(definition);
    const command = definition.kind === "command";
    if (rpc === undefined || definition.kind === "heartbeat") throw new TypeError("no member of an object");
    let holding: LocalHolding | undefined;
    try {
      const { caller, session } = guest;
      const { requestHeader, signal } = carried;
      const wanted = requestedObject(rpc.type, { caller, session, requestHeader, signal });
      const method = { member: rpc.member, definition };
      const answer = await this.#given(method, request, carried, guest, async () => {
        holding = await heldForCall(wanted, signal, this.#rpcHost);
        return holding;
      });
      return askedAgain(answer);
    } catch (error) {
      guest.turn.leave();
      return refused(error, command);
    } finally {
      holding?.release();
    }
  }

  get #rpcHost(): RpcHost {
    const { clock, readyTimeoutMs } = this.#parts;
    return { host: insideOf(this.host), clock, readyTimeoutMs };
  }

  /** Gives a call to its object when it is its turn. */
  async #given(
    method: ProvidedMethod,
    request: Message,
    carried: Carried,
    guest: Guest,
    holdingOf: () => LocalHolding | Promise<LocalHolding>,
  ): Promise<WireAnswer> {
    const { clock, signsOfLife } = this.#parts;
    const { definition } = method;
    const ending = signsOfLife().of({ definition, request, guest });
    if (ending !== undefined) await ending;
    const made = new GuestCall(request, carried, method, guest, clock);
    let forget: () => void = () => undefined;
    try {
      if (!guest.turn.startNow()) await guest.turn.start();
      const found = holdingOf();
      const holding = found instanceof Promise ? await found : found;
      forget = onAbort(made.waiting, () => holding.forget(made));
      return answerOf(await holding.call(made), carried);
    } catch (error) {
      return refused(error, definition.kind === "command");
    } finally {
      forget();
      if (!made.began) guest.turn.leave();
    }
  }

  async #runOnce(command: ObjectCommand, call: GuestCall): Promise<ObjectAnswer> {
    const { type, key, definition } = command;
    const { guest } = call;
    if (guest.call === undefined) throw new TypeError("a command on an object has a call ID");
    return this.#parts.journal.run(
      {
        definition,
        request: call.request,
        caller: guest.key,
        expectedTag: guest.expectedTag,
        call: guest.call,
        arrivedAtMs: guest.arrivedAtMs,
        scope: `${type.$service.typeName} ${key}`,
        waiting: call.waiting,
        joined: command.joined,
      },
      (running) => {
        call.began = true;
        return this.#handle(command, guest, running);
      },
    );
  }

  async #handle(command: ObjectCommand, guest: Guest, running: Running): Promise<Message> {
    const { definition, ending } = command;
    const stop = new EitherSignal(running, ending);
    try {
      if (!guest.turn.startNow()) await guest.turn.start();
      const begun = running.begin();
      if (begun !== undefined) await begun;
      const transaction = this.#transactionOf(definition, running);
      const reply = await command.handle({
        get signal() {
          return stop.signal;
        },
        mayHaveRun: running.mayHaveRun,
        transaction: transaction.use,
      });
      return transaction.messageOf(reply) ?? create(definition.method.output, reply as Message);
    } catch (error) {
      throw errorOfThrow(error, definition, this.#parts.log);
    } finally {
      stop.over();
      guest.turn.leave();
    }
  }

  #transactionOf(
    definition: CommandDefinition,
    running: Pick<Running, "transaction">,
  ): ReturnType<typeof createTransaction> {
    const toMessage = (reply: unknown): Message => create(definition.method.output, (reply ?? {}) as Message);
    const write: Running["transaction"] = (work) => running.transaction(work);
    return createTransaction(write, toMessage, () => new Publishing(this.#parts.topics));
  }
}

function answerOf(answer: ObjectAnswer, call: Carried): WireAnswer {
  answer.header?.forEach((value, name) => call.responseHeader.append(name, value));
  answer.trailer?.forEach((value, name) => call.responseTrailer.append(name, value));
  const { mark, repeat, result } = answer;
  return { mark, repeat, result };
}

/** The object left between the look at it and the call: who has no reference to hear that asks again. */
function askedAgain(answer: WireAnswer): WireAnswer {
  const { mark, result } = answer;
  if (mark !== "none" || !("error" in result) || reasonFrom(result.error) !== "NOT_READY") return answer;
  return { ...answer, mark: "later" };
}

function refused(thrown: unknown, command: boolean): WireAnswer {
  const broken = thrown instanceof BrokenObject;
  const error = broken ? thrown.why : ConnectError.from(thrown);
  // A broken object stays so, whatever its cause.
  const mark = broken ? "none" : markOfError(error);
  return { mark: command ? mark : undefined, repeat: false, result: { error } };
}
