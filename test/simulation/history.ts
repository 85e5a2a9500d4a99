/** What happened in one run, in its order: what the checkers look at, and what two runs of one seed are compared by. */
import type { NetworkEvent } from "../../runtime/testing/simulated-fate.ts";
import type { Op } from "./workload.ts";

/** How an operation ended for its program. */
export type Ended =
  | {
      readonly kind: "reply";
      readonly place: number | undefined;
      readonly by: string | undefined;
      readonly note?: string | undefined;
    }
  | {
      readonly kind: "error";
      /** One of the five outcomes; undefined for an error that is none of holdfast's. */
      readonly outcome: string | undefined;
      readonly reason: string | undefined;
      readonly callId: string | undefined;
      readonly text: string;
    };

/** An effect: a row of the store, or something done elsewhere. */
export interface Effect {
  readonly key: string;
  readonly callId: string;
  readonly by: string;
  /** The list and the place in it; "" and 0 for effects elsewhere. */
  readonly list: string;
  readonly place: number;
  /** The server's process that made it. */
  readonly server: string;
}

/** What a state holds beside its stand; undefined: what its build does not know. */
export interface Content {
  readonly keys?: readonly string[] | undefined;
  readonly notes?: Readonly<Record<string, string>> | undefined;
}

export type HistoryEvent = { readonly at: number } & HistoryFact;

export type HistoryFact =
  | { readonly kind: "phase"; readonly name: string }
  | { readonly kind: "incident"; readonly text: string }
  /** A process is of this build. */
  | { readonly kind: "program"; readonly name: string; readonly build: number }
  | { readonly kind: "invoked"; readonly op: Op; readonly client: string; readonly person: string }
  | { readonly kind: "ended"; readonly op: Op; readonly ended: Ended }
  | { readonly kind: "merged"; readonly op: Op; readonly callId: string }
  | {
      readonly kind: "started";
      readonly key: string;
      readonly callId: string;
      readonly server: string;
      readonly by: string;
    }
  | {
      readonly kind: "stopped";
      readonly key: string;
      readonly server: string;
      /** Ms from the handler's start to its signal. */
      readonly afterMs: number;
    }
  | { readonly kind: "effect"; readonly effect: Effect }
  /** What a request told of its key, to a server whose build knows of such. */
  | { readonly kind: "noted"; readonly key: string; readonly note: string; readonly server: string }
  /** Its handler goes on behind the commit, and what it publishes is with its readers. */
  | { readonly kind: "published"; readonly key: string; readonly callId: string; readonly server: string }
  /** Its commit has failed for who waited for it, and may be durable for all that is said. */
  | { readonly kind: "doubt"; readonly effect: Effect; readonly durable: boolean }
  | { readonly kind: "settled"; readonly client: string; readonly callId: string; readonly outcome: string }
  /** A program has closed its link, and ends when that is over. */
  | { readonly kind: "leaves"; readonly client: string }
  | { readonly kind: "state"; readonly client: string; readonly from: string; readonly to: string }
  | { readonly kind: "network"; readonly event: NetworkEvent }
  | { readonly kind: "opened"; readonly stream: string; readonly list: string }
  | {
      readonly kind: "item";
      readonly stream: string;
      readonly key: string;
      readonly note?: string | undefined;
    }
  /** `count` items are lost; undefined: nobody knows how many. */
  | { readonly kind: "gap"; readonly stream: string; readonly count: number | undefined }
  | { readonly kind: "left"; readonly stream: string; readonly text: string }
  /** An activation begins to be made; it has ended. */
  | { readonly kind: "made"; readonly object: string; readonly activation: string; readonly server: string }
  | { readonly kind: "unmade"; readonly activation: string }
  /** A state of an activation has another value from now on, counted from 0. */
  | {
      readonly kind: "stand";
      readonly member: string;
      readonly activation: string;
      readonly change: number;
      readonly content: Content;
    }
  | { readonly kind: "held"; readonly ref: string; readonly object: string }
  | {
      readonly kind: "refState";
      readonly ref: string;
      readonly from: string;
      readonly to: string;
      /** As what it is bound, or was last. */
      readonly variant: string | undefined;
      readonly cause: string | undefined;
    }
  /** A reference tells its program a value. */
  | {
      readonly kind: "value";
      readonly ref: string;
      readonly member: string;
      readonly activation: string;
      readonly change: number;
    }
  /** A loop over a state has come to its end. */
  | { readonly kind: "unwatched"; readonly ref: string; readonly member: string }
  /** What a reference shows when all is quiet, and each of its states when it is live. */
  | {
      readonly kind: "shows";
      readonly ref: string;
      readonly state: string;
      readonly cause: string | undefined;
    }
  | {
      readonly kind: "seen";
      readonly ref: string;
      readonly member: string;
      readonly activation: string;
      readonly change: number;
      /** Undefined: as a room has seen it. */
      readonly content: Content | undefined;
    }
  /** Who is at the other end of a wire was looked at: when it opened, and when its sign-in was renewed. */
  | { readonly kind: "signedIn"; readonly by: string; readonly server: string }
  /** A heartbeat has reached a server; a server has said goodbye to a session. */
  | { readonly kind: "sign"; readonly session: string; readonly server: string }
  | { readonly kind: "gone"; readonly session: string; readonly server: string }
  /** A server stands still, or goes on. */
  | { readonly kind: "still"; readonly server: string; readonly still: boolean }
  | { readonly kind: "fault"; readonly text: string };

export type FactOf<Kind extends HistoryFact["kind"]> = { readonly at: number } & Extract<
  HistoryFact,
  { kind: Kind }
>;

export class History {
  readonly events: HistoryEvent[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(fact: HistoryFact): void {
    this.events.push({ at: this.#now(), ...fact });
  }

  of<Kind extends HistoryFact["kind"]>(kind: Kind): FactOf<Kind>[] {
    return this.events.filter((event): event is FactOf<Kind> => event.kind === kind);
  }

  /** Of all events so far: equal for two equal runs. */
  get hash(): string {
    let hash = 0x811c9dc5;
    for (const event of this.events) {
      const text = textOf(event);
      for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    }
    return (hash >>> 0).toString(16).padStart(8, "0");
  }
}

/** One line of a timeline. */
export function textOf(event: HistoryEvent): string {
  return `${event.at.toFixed(0).padStart(8)} ${factText(event)}`;
}

function factText(fact: HistoryFact): string {
  switch (fact.kind) {
    case "phase":
      return `===== ${fact.name}`;
    case "incident":
      return `!! ${fact.text}`;
    case "program":
      return `${fact.name} is of build ${fact.build}`;
    case "noted":
      return `${fact.server} reads "${fact.note}" of ${fact.key}`;
    case "invoked": {
      const { op, client, person } = fact;
      const how = [
        op.outbox === "none" ? "" : op.outbox,
        op.merge ? "merge" : "",
        op.refuse > 0 ? `refuse ${op.refuse}` : "",
        op.abortAfterMs === undefined ? "" : `abort after ${op.abortAfterMs} ms`,
      ];
      const rest = how.filter((word) => word !== "").join(" ");
      return `${client} (${person}) op ${op.id} ${op.kind} ${op.key} ${op.list} budget ${op.budgetMs} ms think ${op.thinkMs} ms ${rest}`;
    }
    case "ended":
      return `op ${fact.op.id} ${fact.op.key} ended: ${endedText(fact.ended)}`;
    case "merged":
      return `op ${fact.op.id} ${fact.op.key} takes the place of ${fact.callId}`;
    case "started":
      return `${fact.server} starts ${fact.key} ${fact.callId.slice(0, 8)} for ${fact.by}`;
    case "stopped":
      return `${fact.server} is told to stop ${fact.key} after ${Math.round(fact.afterMs)} ms`;
    case "effect": {
      const { key, callId, by, list, place, server } = fact.effect;
      return `${server} effect ${key} ${callId.slice(0, 8)} by ${by} ${list === "" ? "elsewhere" : `${list}[${place}]`}`;
    }
    case "published":
      return `${fact.server} has published ${fact.key}`;
    case "doubt":
      return `nobody hears that ${fact.effect.key} is ${fact.durable ? "" : "not "}durable`;
    case "settled":
      return `${fact.client} settled ${fact.callId.slice(0, 8)}: ${fact.outcome}`;
    case "leaves":
      return `${fact.client} closes its link`;
    case "state":
      return `${fact.client} ${fact.from} -> ${fact.to}`;
    case "network":
      return networkText(fact.event);
    case "item":
      return `${fact.stream} item ${fact.key}`;
    case "opened":
      return `${fact.stream} follows ${fact.list}`;
    case "gap":
      return `${fact.stream} ${fact.count === undefined ? "restarted" : `lost ${fact.count}`}`;
    case "left":
      return `${fact.stream} has ended: ${fact.text}`;
    case "sign":
      return `${fact.server} has a sign of ${fact.session}`;
    case "gone":
      return `${fact.server} says that ${fact.session} is gone`;
    case "signedIn":
      return `${fact.server} lets ${fact.by} in on a wire`;
    case "made":
      return `${fact.server} makes ${fact.object}: ${fact.activation}`;
    case "unmade":
      return `${fact.activation} has ended`;
    case "stand":
      return `${fact.activation} ${fact.member} is at ${fact.change}`;
    case "held":
      return `${fact.ref} holds ${fact.object}`;
    case "refState":
      return `${fact.ref} ${fact.from} -> ${fact.to} ${fact.cause ?? ""}`;
    case "unwatched":
      return `${fact.ref} tells no more ${fact.member}`;
    case "shows":
      return `${fact.ref} is ${fact.state} ${fact.cause ?? ""}`;
    case "value":
    case "seen":
      return `${fact.ref} ${fact.kind === "seen" ? "shows" : "tells"} ${fact.member} ${fact.activation} at ${fact.change}`;
    case "still":
      return `${fact.server} ${fact.still ? "stands still" : "goes on"}`;
    case "fault":
      return `FAULT ${fact.text}`;
  }
}

function endedText(ended: Ended): string {
  if (ended.kind === "reply") return `reply ${ended.place ?? ""} ${ended.by ?? ""}`;
  return `${ended.outcome ?? "foreign error"} ${ended.reason ?? ""} (${ended.text})`;
}

function networkText({ kind, where, request, status, header, text }: NetworkEvent): string {
  const of =
    request === undefined
      ? ""
      : ` ${request.client}#${request.number} ${nameOf(request.url, request.header)}`;
  const mark = header?.get("holdfast-settled");
  const told = [
    status,
    mark === undefined || mark === null ? undefined : `mark ${mark}`,
    header?.get("holdfast-repeat") === "1" ? "repeat" : undefined,
    text,
  ];
  const rest = told.filter((word) => word !== undefined).join(" ");
  return `${where} ${kind}${of} ${rest}`;
}

function nameOf(url: string, header: Headers): string {
  const call = header.get("holdfast-call");
  return `${url.split("/").at(-1) ?? ""}${call === null ? "" : ` ${call.slice(1, 9)}${call.slice(call.indexOf(";s="))}`}`;
}
