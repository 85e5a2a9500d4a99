/**
 * Places that a simulation must have been at, or its silence says nothing: each of them has to be reached in some
 * thousand seeds.
 */
import { operations } from "./checkers/tally.ts";
import { isHeld } from "./workload.ts";
import type { WorldEnd } from "./world.ts";

export const marksToReach = [
  "a reply lost after its command ran",
  "a copy while the command runs",
  "a copy after the command ran",
  "a copy after the command was refused",
  "an answer from what was kept",
  "a command run on two servers at once",
  "CALL_STALE",
  "CALL_FORGOTTEN",
  "OUTCOME_UNKNOWN",
  "ALREADY_RAN",
  "a try that was asked to come again",
  "SIGN_IN_REFUSED",
  "NO_REPLY",
  "a drain while a command runs",
  "a call refused by a server that drains",
  "a foreign answer",
  "a command that waited in an outbox and ran",
  "a command that was merged",
  "an entry sent by another process",
  "a server that crashed with a handler running",
  "a client killed with a call open",
  "a budget that ended",
  "a command over a wire",
  "a command over a wire and over HTTP",
  "a commit of which nobody heard, durable",
  "a commit of which nobody heard, not durable",
  "a stream over a shared WebSocket",
  "a reader who was told of lost items",
  "a reader whose numbering began anew",
  "a wire cut in the middle of a packet",
  "a half-open wire",
  "a refused WebSocket",
  "a sign-in renewed on a wire",
  "a session that is gone",
  "a wire that lived through a sleep",
  "an object that failed under its holder",
  "an object made afresh under its holder",
  "an object of before a drop under its holder",
  "a call that waited for its object",
  "a call on an object sent again after a drop",
  "a call on an object that nobody waits for",
  "a reference released before it was live",
  "a reader who may not write",
  "a room that saw its shelf made afresh",
  "PARK_TIMEOUT",
  "a reply after an overload",
  "a server started as a newer build",
  "a server rolled back",
  "a client started as another build",
  "a client whose build is refused",
  "a method that its server has not",
  "a member that its object has not",
  "a note of an older program's outbox",
  "a newer build's reply from an older journal",
  "an object of a newer server at an older client",
  "an object of an older server at a newer client",
] as const;

export type ReachedMark = (typeof marksToReach)[number];

export function reachedIn(end: WorldEnd): ReadonlySet<ReachedMark> {
  const reached = new Set<ReachedMark>();
  const { history } = end;
  const running = new Map<string, string>();
  const said = new Map<string, string>();
  const heard = new Set<string>();
  const sender = new Map<string, string>();
  for (const event of history.events) {
    if (event.kind === "started") {
      const before = running.get(event.callId);
      if (before !== undefined && before !== event.server)
        reached.add("a command run on two servers at once");
      running.set(event.callId, event.server);
    } else if (event.kind === "merged") reached.add("a command that was merged");
    else if (event.kind === "doubt") {
      reached.add(`a commit of which nobody heard, ${event.durable ? "durable" : "not durable"}`);
    } else if (event.kind === "gap") {
      const knowsCount = event.count !== undefined;
      reached.add(knowsCount ? "a reader who was told of lost items" : "a reader whose numbering began anew");
    } else if (event.kind === "network") {
      const { kind, request, header, text, where } = event.event;
      const call = request?.header.get("holdfast-call")?.slice(1, 23) ?? "";
      const mark = header?.get("holdfast-settled") ?? "";
      if (kind === "crashed" && [...running.values()].includes(where)) {
        reached.add("a server that crashed with a handler running");
      }
      if (kind === "twin" && running.has(call)) reached.add("a copy while the command runs");
      if (kind === "twin" && said.get(call) === "ran") reached.add("a copy after the command ran");
      if (kind === "twin" && said.get(call) === "refused")
        reached.add("a copy after the command was refused");
      if (kind === "heard" && header?.has("holdfast-server") === false) reached.add("a foreign answer");
      if (kind === "heard") heard.add(`${request?.client} ${request?.number}`);
      if (kind === "failed" && said.get(call) === "ran") reached.add("a reply lost after its command ran");
      if (kind === "sent" && call !== "") {
        const before = sender.get(call);
        if (before !== undefined && before !== request?.client)
          reached.add("an entry sent by another process");
        sender.set(call, request?.client ?? "");
      }
      if (kind === "answered") {
        // No call ends by it. IN_PROGRESS, SUPERSEDED, or a repeat that told its age alone.
        if (event.event.status === 409 && mark === "later") reached.add("a try that was asked to come again");
        if (header?.get("holdfast-repeat") === "1") reached.add("an answer from what was kept");
        if (text === undefined) running.delete(call);
        if (mark === "ran" || mark === "refused") said.set(call, mark);
      }
    }
  }
  reachedByDraining(end, reached);
  reachedByOutcome(end, reached);
  reachedOverWires(end, reached);
  reachedByHolding(end, reached);
  if (end.plan.builds !== undefined) reachedByBuilds(end, reached);
  return reached;
}

/** No call ends with the reason DRAINING: it is sent again, and ends by its budget at the latest. */
function reachedByDraining(end: WorldEnd, reached: Set<ReachedMark>): void {
  const draining = new Set<string>();
  const running = new Map<string, string>();
  for (const event of end.history.events) {
    if (event.kind === "started") running.set(event.callId, event.server);
    else if (event.kind === "incident") {
      const host = /"kind":"(?:close|deploy)".*"host":(\d+)/.exec(event.text)?.[1];
      if (host === undefined) continue;
      draining.add(`s${host}.`);
      if ([...running.values()].some((server) => server.startsWith(`s${host}.`)))
        reached.add("a drain while a command runs");
    } else if (event.kind === "network") {
      const { kind, where, status, request } = event.event;
      const host = where.slice(0, where.indexOf(".") + 1);
      if (kind === "crashed") draining.delete(host);
      if (kind !== "answered") continue;
      if (status === 503 && draining.has(host)) reached.add("a call refused by a server that drains");
      running.delete(request?.header.get("holdfast-call")?.slice(1, 23) ?? "");
    }
  }
}

function reachedOverWires(end: WorldEnd, reached: Set<ReachedMark>): void {
  /** Calls and processes' streams that were HTTP requests, and calls that were answered so. */
  const requests = new Set<string>();
  const answered = new Set<string>();
  const followers = new Set<string>();
  /** The call of each key that began. */
  const calls = new Map<string, string>();
  let signedInCount = 0;
  let openCount = 0;
  for (const event of end.history.events) {
    if (event.kind === "gone") reached.add("a session that is gone");
    else if (event.kind === "signedIn") {
      signedInCount += 1;
      if (signedInCount > openCount) reached.add("a sign-in renewed on a wire");
    } else if (event.kind === "incident" && event.text.includes('"sleep"')) {
      if (openCount > 0 && event.text.includes('"hold"')) reached.add("a wire that lived through a sleep");
    } else if (event.kind === "network") {
      const { kind, request, text = "" } = event.event;
      if (kind === "arrived" && request?.url.endsWith("/Open") === true) openCount += 1;
      const call = request?.header.get("holdfast-call")?.slice(1, 23);
      if (kind === "sent" && call !== undefined) requests.add(call);
      if (kind === "heard" && call !== undefined) answered.add(call);
      if (kind === "sent" && request?.url.endsWith("/Follow") === true) followers.add(request.client);
      if (kind === "silent") reached.add("a half-open wire");
      if (kind === "failed" && text.includes("server response")) reached.add("a refused WebSocket");
      if (kind === "closed" && text.includes("middle")) reached.add("a wire cut in the middle of a packet");
    } else if (event.kind === "started") {
      calls.set(event.key, event.callId);
    } else if (event.kind === "item" && !followers.has(event.stream.split(" ")[0] ?? "")) {
      reached.add("a stream over a shared WebSocket");
    } else if (event.kind === "ended" && event.ended.kind === "reply") {
      const call = calls.get(event.op.key);
      if (call === undefined || answered.has(call)) continue;
      reached.add(requests.has(call) ? "a command over a wire and over HTTP" : "a command over a wire");
    }
  }
}

const reasons = [
  "CALL_STALE",
  "CALL_FORGOTTEN",
  "OUTCOME_UNKNOWN",
  "ALREADY_RAN",
  "SIGN_IN_REFUSED",
  "NO_REPLY",
  "PARK_TIMEOUT",
] as const;

/** What holders have lived through. */
function reachedByHolding(end: WorldEnd, reached: Set<ReachedMark>): void {
  const { history, plan } = end;
  if (plan.holds.length === 0) return;
  const states = new Map<string, string>();
  const told = new Map<string, string>();
  const dropped = new Set<string>();
  const made = new Map<string, string>();
  const afresh = new Set<string>();
  const calls = new Map<
    number,
    { readonly ref: string; loading: boolean; started: boolean; dropped: boolean }
  >();
  const byKey = new Map<string, number>();
  for (const event of history.events) {
    if (event.kind === "held") states.set(event.ref, "loading");
    else if (event.kind === "refState") {
      states.set(event.ref, event.to);
      if (event.from === "live" && event.to === "failed")
        reached.add("an object that failed under its holder");
      if (event.from === "loading" && event.to === "released")
        reached.add("a reference released before it was live");
      if (event.from === "live" && event.to === "loading") dropped.add(event.ref);
      if (event.to === "loading") {
        for (const call of calls.values()) if (call.ref === event.ref && call.started) call.dropped = true;
      }
      if (event.to === "live" && dropped.delete(event.ref) && told.has(event.ref))
        reached.add("an object of before a drop under its holder");
    } else if (event.kind === "value") {
      const before = told.get(event.ref);
      if (before !== undefined && before !== event.activation) {
        dropped.delete(event.ref);
        reached.add("an object made afresh under its holder");
      }
      told.set(event.ref, event.activation);
    } else if (event.kind === "made") {
      const before = made.get(event.object);
      made.set(event.object, event.activation);
      if (before !== undefined) afresh.add(event.activation);
    } else if (
      event.kind === "seen" &&
      event.member === "keys" &&
      told.get(event.ref)?.includes(" room ") === true
    ) {
      if (afresh.has(event.activation)) reached.add("a room that saw its shelf made afresh");
    } else if (event.kind === "invoked" && isHeld(event.op)) {
      const ref = `${event.client} ref ${event.op.list}`;
      calls.set(event.op.id, { ref, loading: states.get(ref) === "loading", started: false, dropped: false });
      byKey.set(event.op.key, event.op.id);
    } else if (event.kind === "started") {
      const call = calls.get(byKey.get(event.key) ?? -1);
      if (call !== undefined) call.started = true;
    } else if (event.kind === "ended" && calls.has(event.op.id)) {
      const call = calls.get(event.op.id);
      const { ended } = event;
      if (ended.kind === "reply" && call?.loading === true) reached.add("a call that waited for its object");
      if (ended.kind === "reply" && call?.dropped === true)
        reached.add("a call on an object sent again after a drop");
      if (ended.kind === "error" && ended.reason === "ABORTED" && call?.started === true)
        reached.add("a call on an object that nobody waits for");
      if (ended.kind === "error" && ended.reason === "NO_SUCH_MEMBER")
        reached.add("a reader who may not write");
      calls.delete(event.op.id);
    }
  }
}

function reachedByOutcome(end: WorldEnd, reached: Set<ReachedMark>): void {
  const settled = new Map(end.history.of("settled").map(({ callId, outcome }) => [callId, outcome]));
  for (const { ended } of operations(end)) {
    if (ended === undefined) {
      reached.add("a client killed with a call open");
      continue;
    }
    const { atMs = Infinity, forMs = 0 } = end.plan.overload ?? {};
    if (ended.ended.kind === "reply" && ended.op.key.startsWith("overload-") && ended.at > atMs + forMs)
      reached.add("a reply after an overload");
    if (ended.ended.kind !== "error") continue;
    const { reason, callId = "", outcome } = ended.ended;
    for (const name of reasons) if (reason === name) reached.add(name);
    if (reason === "BUDGET_ENDED") reached.add("a budget that ended");
    if (outcome === "in-outbox" && settled.get(callId) === "ran") {
      reached.add("a command that waited in an outbox and ran");
    }
  }
}

function reachedByBuilds({ history }: WorldEnd, reached: Set<ReachedMark>): void {
  const builds = new Map<string, number>();
  /** The build that each host, and each client, had before. */
  const before = new Map<string, number>();
  const makers = new Map<string, string>();
  const senders = new Map<string, string>();
  const effects = new Map<string, string>();
  for (const event of history.events) {
    if (event.kind === "program") {
      const [place = ""] = event.name.split(".");
      const was = before.get(place) ?? event.build;
      before.set(place, event.build);
      builds.set(event.name, event.build);
      if (was === event.build) continue;
      if (place.startsWith("c")) reached.add("a client started as another build");
      else reached.add(was < event.build ? "a server started as a newer build" : "a server rolled back");
    } else if (event.kind === "state" && event.to === "refused" && builds.get(event.client) === 1) {
      reached.add("a client whose build is refused");
    } else if (event.kind === "invoked") makers.set(event.op.key, event.client);
    else if (event.kind === "effect") effects.set(event.effect.callId, event.effect.server);
    else if (event.kind === "network") {
      const { kind, request, where, header } = event.event;
      const call = request?.header.get("holdfast-call")?.slice(1, 23);
      if (call === undefined) continue;
      if (kind === "sent") senders.set(call, where);
      const isOld = builds.get(where) === 1 && builds.get(effects.get(call) ?? "") === 2;
      if (kind === "answered" && isOld && header?.get("holdfast-repeat") === "1")
        reached.add("a newer build's reply from an older journal");
    } else if (event.kind === "started") {
      const sender = builds.get(senders.get(event.callId) ?? "");
      const maker = builds.get(makers.get(event.key) ?? "");
      if (sender === 1 && maker === 2 && builds.get(event.server) === 2)
        reached.add("a note of an older program's outbox");
    } else if (event.kind === "ended" && event.ended.kind === "error") {
      if (event.ended.reason === "NO_SUCH_METHOD") reached.add("a method that its server has not");
      if (event.op.kind === "mark" && event.ended.reason === "NO_SUCH_MEMBER")
        reached.add("a member that its object has not");
    } else if (event.kind === "seen") {
      const server = builds.get(event.activation.split(" ")[0] ?? "");
      const client = builds.get(event.ref.split(" ")[0] ?? "");
      if (server === 2 && client === 1) reached.add("an object of a newer server at an older client");
      if (server === 1 && client === 2) reached.add("an object of an older server at a newer client");
    }
  }
}
