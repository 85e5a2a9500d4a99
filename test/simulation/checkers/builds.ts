/**
 * What programs of two builds may rely on. What the newer one tells in a field that the older does not know reaches
 * who knows it, also from an outbox that the older one has sent, and from an older server's journal in the binary
 * form; it is never another's. What a server does not have ends with just that, and is there when its server is.
 */
import { type Build, noteOf } from "../builds.ts";
import type { FactOf, HistoryEvent } from "../history.ts";
import { mayWrite } from "../shelves-server.ts";
import { lastOpId } from "../workload.ts";
import type { WorldEnd } from "../world.ts";
import { type Invoked, operations } from "./tally.ts";

export function builds(end: WorldEnd): readonly string[] {
  if (end.plan.builds === undefined) return [];
  const { history } = end;
  const buildOf = new Map(history.of("program").map(({ name, build }) => [name, build]));
  const made = new Map(operations(end).map(({ invoked }) => [invoked.op.key, invoked]));
  const told = new Told(end, buildOf);
  const breaches = history.events.flatMap((event) => told.take(event, made));
  return [...breaches, ...asked(end, buildOf)];
}

/** Notes on their ways. */
class Told {
  readonly #end: WorldEnd;
  readonly #buildOf: ReadonlyMap<string, number>;
  /** Whose handler has run for a key, and what it was told. */
  readonly #noted = new Map<string, string>();
  /** Whether an older server has run yet: only that can have lost what it does not know. */
  #older = false;

  constructor(end: WorldEnd, buildOf: ReadonlyMap<string, number>) {
    this.#end = end;
    this.#buildOf = buildOf;
  }

  take(event: HistoryEvent, made: ReadonlyMap<string, Invoked>): readonly string[] {
    switch (event.kind) {
      case "program":
        if (event.name.startsWith("s") && event.build === 1) this.#older = true;
        return [];
      case "noted": {
        const its = made.get(event.key);
        // Who merges is told of one command by another.
        if (its === undefined || its.op.merge) return [];
        this.#noted.set(event.key, event.note);
        const right = this.#buildOf.get(its.client) === 2 ? noteOf(event.key) : "";
        return event.note === right ? [] : [`${event.server} read "${event.note}" of ${event.key}`];
      }
      case "ended": {
        const { op, ended } = event;
        if (op.kind !== "append" || ended.kind !== "reply" || op.merge) return [];
        return this.#heard(op.key, ended.note, this.#isBinary(op.client), made.get(op.key)?.client);
      }
      case "item":
        if (made.get(event.key)?.op.merge === true) return [];
        return this.#heard(event.key, event.note, false, event.stream.split(" ")[0]);
      default:
        return [];
    }
  }

  #isBinary(client: number): boolean {
    const { format, calls } = this.#end.plan.clients[client] ?? {};
    return format === "binary" && calls === "http";
  }

  #heard(key: string, note: string | undefined, binary: boolean, client = ""): readonly string[] {
    const knows = this.#buildOf.get(client) === 2;
    const noted = this.#noted.get(key) ?? "";
    const right = knows && (note === noted || (note === "" && this.#older && !binary));
    return right || (!knows && note === undefined)
      ? []
      : [`${client} was told "${String(note)}" of ${key}, not "${noted}"`];
  }
}

/** What the newer build alone has: answered by who has it, and refused with that word by who has not. */
function asked(end: WorldEnd, buildOf: ReadonlyMap<string, number>): readonly string[] {
  const running = lastBuilds(end, buildOf);
  const setBack = end.plan.incidents.some((one) => one.kind === "jumpServer" && one.byMs < 0);
  return operations(end).flatMap(({ invoked, ended }) => {
    const { op } = invoked;
    if (op.kind !== "stamp" && op.kind !== "mark") return [];
    const name = `op ${op.id} ${op.kind} ${op.key}`;
    const how = ended?.ended;
    const lacks = op.kind === "stamp" ? "NO_SUCH_METHOD" : "NO_SUCH_MEMBER";
    if (how?.kind === "error" && how.reason === lacks && how.outcome === "refused")
      return [`${name} was refused with ${lacks}, and nobody looked at it`];
    if (op.id < lastOpId || running.size !== 1) return [];
    const by = invoked.person === "nobody" ? undefined : invoked.person;
    const isReader = op.kind === "mark" && !mayWrite(end.plan.writers, by);
    const expected = running.has(2) && !isReader ? "reply" : lacks;
    const was = how?.kind === "error" ? how.reason : how?.kind;
    // A server whose clock was set back takes what is new for what it may have forgotten.
    if (was === "CALL_FORGOTTEN" && setBack) return [];
    return was === expected ? [] : [`${name} ended with ${was ?? "nothing"}, not with ${expected}`];
  });
}

/** Of the servers that run when all is well. */
function lastBuilds({ plan, history }: WorldEnd, buildOf: ReadonlyMap<string, number>): ReadonlySet<Build> {
  const last = new Map<string, FactOf<"program">>();
  for (const fact of history.of("program")) last.set(fact.name.split(".")[0] ?? "", fact);
  const hosts = Array.from({ length: plan.hostCount }, (_, host) => last.get(`s${host}`)?.name ?? "");
  return new Set(hosts.map((name) => (buildOf.get(name) === 2 ? 2 : 1)));
}
