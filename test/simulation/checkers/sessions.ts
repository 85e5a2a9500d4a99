/**
 * A1: a session is gone once after its last sign of life, never sooner than its time, of which a server that stands still
 * has none, and never while it lives; and who has died for good is gone when all is quiet, also where its server was
 * started again.
 */
import type { HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

/** As the schema says, and what looking at rounds and a commit add. */
const goneAfterMs = 100_000;
const slackMs = 100;
/** A server looks at its sessions so often: of a time in which it stood still so much may count. */
const roundMs = 5_000;

/** Ms in which the server stood still, and which do not count. */
class StillTime {
  #countMs = 0;
  #since: { readonly server: string; readonly at: number } | undefined;

  take(event: HistoryEvent): void {
    if (event.kind === "still" && event.still) this.#since ??= { server: event.server, at: event.at };
    if (this.#since === undefined || goesOn(event) !== this.#since.server) return;
    this.#countMs += Math.max(0, event.at - this.#since.at - roundMs);
    this.#since = undefined;
  }

  get ms(): number {
    return this.#countMs;
  }
}

/** The server that goes on, or is dead. */
function goesOn(event: HistoryEvent): string | undefined {
  if (event.kind === "still" && !event.still) return event.server;
  return event.kind === "network" && event.event.kind === "crashed" ? event.event.where : undefined;
}

/** A store in memory forgets with its server. */
function remembers({ plan }: WorldEnd): boolean {
  return (
    plan.store === "durable" ||
    !plan.incidents.some(({ kind }) => kind === "crash" || kind === "close" || kind === "deploy")
  );
}

export function sessions(end: WorldEnd): readonly string[] {
  const { plan, history } = end;
  if (!plan.beats) return [];
  const breaches: string[] = [];
  const still = new StillTime();
  const signs = new Map<string, number>();
  /** How long the server had stood still by then. */
  const stillBefore = new Map<string, number>();
  /** By the clients' own names: when a request of theirs was last there, whoever they were signed in as. */
  const heard = new Map<string, number>();
  /** Since their last heartbeat, and since the last request that may have been theirs. */
  const gone = new Set<string>();
  const goneOnce = new Set<string>();
  for (const event of history.events) {
    still.take(event);
    if (event.kind === "sign") {
      stillBefore.set(event.session, still.ms);
      signs.set(event.session, event.at);
      gone.delete(event.session);
      goneOnce.delete(event.session);
    } else if (event.kind === "network" && (event.event.kind === "arrived" || event.event.kind === "twin")) {
      // Any request is a sign, also a late copy of one whose program is long gone; a wire's hello says the same name.
      const { request } = event.event;
      const name = request?.header.get("holdfast-session") ?? request?.client ?? "";
      heard.set(name, event.at);
      for (const session of goneOnce) if (session.startsWith(`${name} of `)) goneOnce.delete(session);
    } else if (event.kind === "gone") {
      const { session, at } = event;
      const stillMs = still.ms - (stillBefore.get(session) ?? 0);
      const quietMs = at - (signs.get(session) ?? -Infinity) - stillMs;
      if (quietMs < goneAfterMs - slackMs)
        breaches.push(`${session} is gone ${Math.round(quietMs)} ms after a sign of it`);
      if (goneOnce.has(session)) breaches.push(`${session} is gone twice`);
      gone.add(session);
      goneOnce.add(session);
    } else if (event.kind === "phase" && event.name === "restart" && remembers(end)) {
      for (const [session, at] of signs) {
        const lastAt = Math.max(at, heard.get(session.split(" ", 1)[0] ?? "") ?? at);
        const left = event.at - lastAt > goneAfterMs + 30_000 && !gone.has(session);
        if (left) breaches.push(`${session} has given no sign for long, and nobody has said that it is gone`);
      }
    }
  }
  return breaches;
}
