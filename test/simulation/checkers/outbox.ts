/** I9, I10: what waits in an outbox leaves it with a true outcome that somebody hears, also after a kill. */
import { firstSentAheadMsMost, outboxKeepMs } from "../../../runtime/base/constants.ts";
import type { Plan } from "../plan.ts";
import type { WorldEnd } from "../world.ts";
import { ranAsCopyAlone } from "./copies.ts";
import { effectsOf, operations } from "./tally.ts";

export function outbox(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  // Who has signed in as another one has entries that wait for their own caller.
  const paused = new Set(
    end.plan.incidents.flatMap((one) => (one.kind === "person" ? [folderOf(end, one.client)] : [])),
  );
  const settled = new Map(end.history.of("settled").map(({ callId, outcome }) => [callId, outcome]));
  const keys = new Map(effectsOf(end).map(({ key, callId }) => [callId, key]));
  for (const [folder, names] of end.folders.entries()) {
    const entries = names.filter((name) => !name.startsWith("ended-"));
    if (entries.length > 0 && !paused.has(folder))
      breaches.push(`an outbox still holds ${entries.join(", ")}`);
  }
  for (const { invoked, ended } of operations(end)) {
    if (ended?.ended.kind !== "error" || ended.ended.outcome !== "in-outbox") continue;
    const { op } = invoked;
    const { callId = "" } = ended.ended;
    const outcome = settled.get(callId);
    const there = keys.has(callId);
    if (outcome === undefined && !there && !paused.has(folderOf(end, op.client))) {
      breaches.push(`op ${op.id} ${op.key} waited (${callId}), and nobody heard how it ended`);
    }
    if (outcome === "ran" && !there)
      breaches.push(`op ${op.id} ${op.key} was settled as run, and is not there`);
    if ((outcome === "refused" || (outcome === "not-run" && !ranAsCopyAlone(end, callId))) && there) {
      breaches.push(`op ${op.id} ${op.key} was settled as ${outcome}, and is there`);
    }
  }
  for (const { op, callId } of end.history.of("merged")) {
    const key = keys.get(callId) ?? op.key;
    if (key !== op.key) breaches.push(`op ${op.id} ${op.key} took the place of ${key}`);
  }
  return [...breaches, ...unheard(end), ...gone(end), ...tooOld(end)];
}

/**
 * No world lives as long as an entry may wait, and who made one counts on a clock that does not jump. Other processes
 * of its folder have the wall clock alone.
 */
function tooOld(end: WorldEnd): readonly string[] {
  const folders = end.plan.clients.map(({ folder }) => folder);
  const alone = (client: number): boolean => folders.filter((its) => its === folders[client]).length === 1;
  const expired = new Set(
    end.history
      .of("settled")
      .flatMap(({ client, callId, outcome }) => (outcome === "expired" ? [`${client} ${callId}`] : [])),
  );
  // One that takes the place of an earlier program's command is as old as that.
  const merged = new Set(end.history.of("merged").map(({ op }) => op.id));
  return operations(end).flatMap(({ invoked: { op, client }, ended }) => {
    const callId = ended?.ended.kind === "error" ? ended.ended.callId : undefined;
    return alone(op.client) && !merged.has(op.id) && expired.has(`${client} ${callId ?? ""}`)
      ? [`${client} was told that its own ${op.key} was too old`]
      : [];
  });
}

/** The process that made a command hears how it ended, also when another one has sent it. */
function unheard(end: WorldEnd): readonly string[] {
  const { incidents, builds } = end.plan;
  const ends = (client: number): boolean =>
    incidents.some(
      (one) =>
        (one.kind === "kill" || one.kind === "leave" || one.kind === "person" || one.kind === "update") &&
        one.client === client,
    );
  // A program that was refused is started as another build.
  if (builds?.refusesFirst === true) return [];
  const heard = new Set(end.history.of("settled").map(({ client, callId }) => `${client} ${callId}`));
  return operations(end).flatMap(({ invoked: { op, client }, ended }) => {
    if (ended?.ended.kind !== "error" || ended.ended.outcome !== "in-outbox" || ends(op.client)) return [];
    const { callId = "" } = ended.ended;
    return heard.has(`${client} ${callId}`) ? [] : [`${client} never heard how ${op.key} ended`];
  });
}

function folderOf({ plan }: WorldEnd, client: number): number | undefined {
  return plan.clients[client]?.folder;
}

/** So long a program has lived after it made a command that is kept before it is sent: the disk has it. */
const writtenMs = 500;

/** Of a command first sent in the future no server can tell whether it ran before its clock was set back. */
function isSetBack({ incidents }: Plan): boolean {
  const jumps = incidents.map((one) => (one.kind === "jumpServer" ? Math.abs(one.byMs) : 0));
  return jumps.reduce((sum, byMs) => sum + byMs, 0) > firstSentAheadMsMost;
}

/**
 * Who has sent a command while it did not know the server's time can tell a later process by the wall clock alone when
 * that was; after a jump of it the command may be as old as can be. Any command is too old after a jump of a day.
 */
function ages(end: WorldEnd, folder: number | undefined): boolean {
  const its = (client: number): boolean => folderOf(end, client) === folder;
  const jumps = end.plan.incidents.flatMap((one) =>
    one.kind === "jumpClient" && its(one.client) ? [Math.abs(one.byMs)] : [],
  );
  if (jumps.some((byMs) => byMs > outboxKeepMs - 3_600_000)) return true;
  return (
    jumps.length > 0 &&
    end.history.of("network").some(({ event: { request } }) => {
      const stamp = request?.header.get("holdfast-call") ?? "";
      return /;a=\d+$/.test(stamp) && its(Number(/^c(\d+)/.exec(request?.client ?? "")?.[1]));
    })
  );
}

/** What is kept before it is sent is sent although its program is killed. */
function gone(end: WorldEnd): readonly string[] {
  const { incidents, folderFailRate, store, builds } = end.plan;
  if (store !== "durable" || folderFailRate > 0 || isSetBack(end.plan)) return [];
  // Who is told that its build is refused is told that nothing is kept, and may end before it hears that.
  if (builds?.refusesFirst === true) return [];
  const begun = new Set(end.history.of("started").map(({ key }) => key));
  const leaving = new Map(end.history.of("leaves").map(({ client, at }) => [client, at]));
  return operations(end).flatMap(({ invoked: { op, at, client }, ended }) => {
    if (
      op.outbox !== "early" ||
      op.merge ||
      // No server may have had the method.
      op.kind === "stamp" ||
      op.abortAfterMs !== undefined ||
      ended !== undefined ||
      begun.has(op.key)
    )
      return [];
    // While it stands still it writes nothing.
    const still = incidents.some(
      (one) =>
        (one.kind === "pauseClient" || one.kind === "sleep") &&
        one.client === op.client &&
        one.atMs <= at + writtenMs &&
        one.atMs + one.forMs >= at,
    );
    const kill = incidents.find(
      (one) => (one.kind === "kill" || one.kind === "update") && one.client === op.client && one.atMs >= at,
    );
    // What a program asks of a link that it has closed is refused.
    if ((leaving.get(client) ?? Infinity) <= at) return [];
    return !still && kill !== undefined && kill.atMs > at + writtenMs && !ages(end, folderOf(end, op.client))
      ? [`${op.key} was kept before it was sent, and is gone with its program`]
      : [];
  });
}
