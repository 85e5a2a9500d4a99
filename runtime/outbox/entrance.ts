/**
 * Gives each command that begins its place: one behind what waits, one in the outbox from the start, or that of
 * the same command which waits already.
 *
 * Source: design "The outbox"; reliability decisions D30, D34.
 */
import { toBinary } from "@bufbuild/protobuf";
import type { CallOptions } from "../base/calls.ts";
import { shortId } from "../base/log.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import { newId } from "../call/call-id.ts";
import { headerNames } from "../call/headers.ts";
import type { EnteringCall, Keep } from "../call/keep.ts";
import { Lane } from "../call/lane.ts";
import { Stamp } from "../call/stamp.ts";
import type { Departures } from "./departures.ts";
import { type Entry, methodPath } from "./entry.ts";
import { fullError, waitsError } from "./errors.ts";
import { cannotWrite, Record } from "./record.ts";
import { Repeat } from "./repeat.ts";
import { Seat } from "./seat.ts";
import type { Sender } from "./sender.ts";
import type { Settlements } from "./settlements.ts";
import type { Shelf } from "./shelf.ts";
import { Waiting } from "./waiting.ts";

export interface EntranceOptions {
  readonly env: CallEnvironment;
  readonly server: string;
  readonly account: string;
  readonly shelf: Shelf;
  readonly sender: Sender;
  readonly departures: Departures;
  readonly settlements: Settlements;
}

export class Entrance {
  readonly #options: EntranceOptions;
  /** A lane of its own: a command may wait here for hours, and the link's lane is not held up by it. */
  readonly #lane: Lane;
  /** Calls that have not ended; a link that closes waits for what they put in. */
  #openCount = 0;
  #idle: (() => void)[] = [];

  constructor(options: EntranceOptions) {
    this.#options = options;
    this.#lane = new Lane(newId(options.env.random));
  }

  /** See `CallOutbox`. */
  async enter(call: EnteringCall): Promise<Keep> {
    const { definition, options } = call;
    const mode = definition.outbox ?? "none";
    if (mode === "none") return this.#behind(call, undefined);
    const mergeKey = options.key ?? (definition.merge === true ? "" : undefined);
    const same = mergeKey === undefined ? undefined : await this.#sameCommand(call, mergeKey);
    if (same !== undefined) return this.#inPlaceOf(same, call);
    const { random, clock, ticket, signIn, anonymous } = this.#options.env;
    const callId = newId(random);
    const full = this.#options.shelf.full(toBinary(definition.method.input, call.request).byteLength);
    if (full !== undefined) throw fullError(full, callId);
    const stamp = new Stamp(callId, { clock, ticket, signIn, anonymous, lane: this.#lane });
    return mode === "late" ? this.#behind(call, stamp) : this.#inAtOnce(call, stamp);
  }

  /** Resolves when no call is under way that may still put something in. */
  async idle(): Promise<void> {
    if (this.#openCount > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** The entry that a repeat stands for. */
  async #sameCommand(
    { definition, request, options }: EnteringCall,
    mergeKey: string,
  ): Promise<Entry | undefined> {
    const { method } = definition;
    const params = paramsOf(options);
    const { shelf } = this.#options;
    const bytes = toBinary(method.input, request);
    for (const each of shelf.entries.value) {
      if (each.service !== method.parent.typeName || each.method !== method.name) continue;
      // For another object it is another command.
      if (each.mergeKey !== mergeKey || each.params !== params || each.requestBytes !== bytes.byteLength)
        continue;
      const entry = await shelf.read(each.name);
      if (entry?.request.every((byte, at) => byte === bytes[at]) === true) return entry;
    }
    return undefined;
  }

  #inPlaceOf(entry: Entry, call: EnteringCall): Keep {
    const { env, shelf, sender, departures, settlements } = this.#options;
    const { name, stamp: memory } = entry;
    const stamp = sender.seatOf(name)?.stamp ?? departures.own(name)?.stamp ?? Stamp.resume(memory, env);
    this.#openCount += 1;
    call.options.onMerged?.(memory.callId);
    return new Repeat(stamp, {
      seatOf: () => sender.seatOf(name),
      ended: () => settlements.recent(memory.callId),
      sit: () => this.#sit(new Record(entry, stamp, shelf), true),
      waits: (error, fate) => waitsError(error, fate, memory.callId),
      over: () => this.#over(),
    });
  }

  async #inAtOnce(call: EnteringCall, stamp: Stamp): Promise<Keep> {
    const { env, shelf, departures } = this.#options;
    const entry = this.#entryOf(call, stamp, shelf.nextName(stamp.callId));
    try {
      await shelf.put(entry);
    } catch (error) {
      stamp.settle();
      throw cannotWrite(error, stamp.callId);
    }
    departures.made(entry.name, { stamp, method: methodPath(entry), madeAt: env.clock.monotonic() });
    return this.#sit(new Record(entry, stamp, shelf), false);
  }

  #sit(record: Record, told: boolean): Seat {
    const { sender, departures } = this.#options;
    this.#openCount += 1;
    const seat = new Seat(record, told, {
      prompt: () => sender.prompt(),
      leave: (entry, ending, its) => departures.leave(entry, ending, { toldThatItWaits: its }),
      alone: (run) => sender.alone(run),
      waits: (error, fate) => waitsError(error, fate, record.stamp.callId),
      over: (over) => {
        sender.stand(over);
        this.#over();
      },
    });
    sender.sit(seat);
    return seat;
  }

  #behind(call: EnteringCall, stamp: Stamp | undefined): Keep {
    const { env, shelf, sender } = this.#options;
    this.#openCount += 1;
    const name = shelf.nextName(stamp?.callId ?? newId(env.random));
    const madeAt = env.clock.monotonic();
    return new Waiting(stamp, {
      clear: (signal) => sender.clear(name, signal),
      putIn: async (error, fate) => {
        if (stamp === undefined || !(await this.#putIn(call, stamp, { name, madeAt }))) return false;
        if (fate === "waits") sender.prompt();
        else void sender.pause(error);
        return true;
      },
      waits: (error, fate) => waitsError(error, fate, stamp?.callId ?? ""),
      over: () => this.#over(),
    });
  }

  /** A command moves in at its end. */
  async #putIn(
    call: EnteringCall,
    stamp: Stamp,
    { name, madeAt }: { readonly name: string; readonly madeAt: number },
  ): Promise<boolean> {
    const { env, shelf, departures } = this.#options;
    const entry = this.#entryOf(call, stamp, name);
    const full = shelf.full(entry.request.byteLength);
    try {
      if (full !== undefined) throw fullError(full, stamp.callId);
      await shelf.put(entry);
    } catch (error) {
      env.log.error("outbox: a command could not be kept; its error says what is known of it", {
        method: methodPath(entry),
        call: shortId(stamp.callId),
        error,
      });
      return false;
    }
    departures.made(name, { stamp, method: methodPath(entry), madeAt });
    return true;
  }

  #entryOf({ definition, request, options }: EnteringCall, stamp: Stamp, name: string): Entry {
    const { method, handlerMostMs, merge } = definition;
    const { server, account, env } = this.#options;
    return {
      name,
      server,
      account,
      service: method.parent.typeName,
      method: method.name,
      request: toBinary(method.input, request),
      requestType: method.input.typeName,
      replyType: method.output.typeName,
      stamp: stamp.memory(),
      madeAtMs: env.clock.now(),
      mergeKey: options.key ?? (merge === true ? "" : undefined),
      params: paramsOf(options),
      handlerMostMs,
    };
  }

  #over(): void {
    this.#openCount -= 1;
    if (this.#openCount > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Which held object it is for. */
function paramsOf({ headers }: CallOptions): string | undefined {
  return new Headers(headers).get(headerNames.params) ?? undefined;
}
