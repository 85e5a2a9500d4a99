/**
 * H3-H5, H7: a reference tells values that its object had, each later than the one before, and none after its release;
 * its states follow their table; and when all is quiet it is live, and shows and has told what its object has, and no
 * more than its holder may see.
 */
import type { Content, HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

const allowed: Readonly<Record<string, readonly string[]>> = {
  loading: ["live", "failed", "released"],
  live: ["loading", "failed", "released"],
  failed: ["loading", "released"],
  released: [],
};

interface Stand {
  readonly activation: string;
  readonly change: number;
}

interface Told extends Stand {
  /** How often its holder had become another variant by then. */
  readonly turn: number;
}

class References {
  readonly breaches: string[] = [];
  /** The newest value of each state of each activation, and whose it is. */
  readonly #newest = new Map<string, number>();
  readonly #content = new Map<string, Content>();
  readonly #objectOf = new Map<string, string>();
  readonly #ended = new Set<string>();
  readonly #held = new Map<string, string>();
  readonly #variants = new Map<string, string | undefined>();
  readonly #turns = new Map<string, number>();
  /** When each was. */
  readonly #released = new Map<string, number>();
  /** By watcher and member: the last value that it told, and whose values it told before. */
  readonly #told = new Map<string, Told>();
  readonly #before = new Map<string, Set<string>>();

  take(event: HistoryEvent): void {
    switch (event.kind) {
      case "made":
        this.#objectOf.set(event.activation, event.object);
        return;
      case "unmade":
        this.#ended.add(event.activation);
        return;
      case "stand":
        this.#newest.set(`${event.activation} ${event.member}`, event.change);
        this.#content.set(`${event.activation} ${event.member}`, event.content);
        return;
      case "held":
        this.#held.set(event.ref, event.object);
        return;
      case "refState":
        if (allowed[event.from]?.includes(event.to) !== true)
          this.#breach(`${event.ref} went from ${event.from} to ${event.to}`);
        if (this.#variants.get(event.ref) !== event.variant)
          this.#turns.set(event.ref, (this.#turns.get(event.ref) ?? 0) + 1);
        this.#variants.set(event.ref, event.variant);
        if (event.to === "released") this.#released.set(event.ref, event.at);
        return;
      case "value":
        this.#value(event.ref, event.member, event, event.at);
        return;
      case "unwatched":
        // It ends when its holder may not see the state any more, and does not begin again when it may.
        this.#told.delete(`${event.ref} ${event.member}`);
        return;
      case "shows":
        if (event.state !== "live")
          this.#breach(`${event.ref} is ${event.state} although all is quiet: ${event.cause ?? ""}`);
        return;
      case "seen":
        this.#seen(event.ref, event.member, event);
        this.#same(event.ref, event.member, event.activation, event.content);
        return;
      default:
    }
  }

  #breach(text: string): void {
    this.breaches.push(text);
  }

  #value(watcher: string, member: string, { activation, change }: Stand, at: number): void {
    const ref = watcher.replace(/ loop$/, "");
    const name = `${watcher} ${member}`;
    const newest = this.#newest.get(`${activation} ${member}`) ?? -1;
    // What a loop was given just before it takes in the same moment.
    const releasedAt = this.#released.get(ref);
    if (releasedAt !== undefined && (watcher === ref || at > releasedAt))
      this.#breach(`${name} told a value after its release`);
    if (this.#objectOf.get(activation) !== this.#held.get(ref))
      this.#breach(`${name} told a value of ${activation}, which is another object`);
    if (change > newest) this.#breach(`${name} told ${change} of ${activation}, which was at ${newest}`);
    const last = this.#told.get(name);
    const before = this.#before.get(name) ?? new Set<string>();
    this.#before.set(name, before);
    const turn = this.#turns.get(ref) ?? 0;
    // Who sees it as another variant from now on is told again what has not changed.
    const again = change === last?.change && turn !== last.turn;
    if (last?.activation === activation && change <= last.change && !again)
      this.#breach(`${name} told ${change} of ${activation} after ${last.change}`);
    if (last?.activation !== activation && before.has(activation))
      this.#breach(`${name} went back to ${activation}`);
    before.add(activation);
    this.#told.set(name, { activation, change, turn });
  }

  /** What its object holds, as far as its build knows of it. */
  #same(ref: string, member: string, activation: string, content: Content | undefined): void {
    const { keys = [], notes = {} } = this.#content.get(`${activation} ${member}`) ?? {};
    const differs =
      (content?.keys !== undefined && content.keys.join() !== keys.join()) ||
      (content?.notes !== undefined && sorted(content.notes) !== sorted(notes));
    if (differs) this.#breach(`${ref} ${member} shows not what ${activation} holds`);
  }

  #seen(ref: string, member: string, { activation, change }: Stand): void {
    const newest = this.#newest.get(`${activation} ${member}`);
    const name = `${ref} ${member}`;
    // As the schema says.
    if (member === "knocks" && this.#variants.get(ref) === "reader")
      this.#breach(`${name} is shown, which readers may not see`);
    if (this.#ended.has(activation)) this.#breach(`${name} shows ${activation}, which has ended`);
    if (change !== newest) this.#breach(`${name} shows ${change} of ${activation}, which is at ${newest}`);
    for (const watcher of [name, `${ref} loop ${member}`]) {
      const told = this.#told.get(watcher);
      if (told === undefined || (told.activation === activation && told.change === change)) continue;
      this.#breach(
        `${watcher} has last told ${told.change} of ${told.activation}, and shows ${change} of ${activation}`,
      );
    }
  }
}

function sorted(notes: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(notes).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function references(end: WorldEnd): readonly string[] {
  const all = new References();
  for (const event of end.history.events) all.take(event);
  return all.breaches;
}
