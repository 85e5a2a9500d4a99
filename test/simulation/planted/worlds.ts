/** Which worlds have what a breakage is about: where a search begins. */
import type { IncidentKind, RateName } from "../faults.ts";
import type { Plan } from "../plan.ts";
import type { OpKind } from "../workload.ts";

export type World = (plan: Plan) => boolean;

export const all =
  (...worlds: readonly World[]): World =>
  (plan) =>
    worlds.every((world) => world(plan));

/** At least so many operations of one of these kinds. */
export const ops =
  (count: number, ...kinds: readonly OpKind[]): World =>
  (plan) =>
    plan.ops.filter(({ kind }) => kinds.includes(kind)).length >= count;

export const incident =
  (...kinds: readonly IncidentKind[]): World =>
  (plan) =>
    plan.incidents.some(({ kind }) => kinds.includes(kind));

export const rate =
  (name: RateName, least = 0.03): World =>
  (plan) =>
    plan.rates[name] >= least;

export const durable: World = ({ store }) => store === "durable";
export const memory: World = ({ store }) => store === "memory";
export const failingDisk: World = ({ diskFailRate }) => diskFailRate > 0;
export const failingFolder: World = ({ folderFailRate }) => folderFailRate > 0;
export const slowDisk: World = ({ diskMsMost, readMsMost }) => diskMsMost > 100 || readMsMost > 0;
export const slowReads: World = ({ readMsMost }) => readMsMost > 0;
export const merging: World = (plan) => plan.ops.some(({ merge }) => merge);
export const aborting: World = (plan) => plan.ops.some(({ abortAfterMs }) => abortAfterMs !== undefined);

/** Several clients with one outbox, and commands for it. */
export const sharedFolder: World = ({ clients, ops: its }) =>
  new Set(clients.map(({ folder }) => folder)).size < clients.length &&
  its.filter(({ outbox }) => outbox !== "none").length > 4;

/** Clients that are not signed in, two of them. */
export const nobodies: World = ({ clients }) =>
  clients.filter(({ person }) => person === undefined).length > 1;

/** More calls at once than a gate lets go in one slice. */
export const crowd: World = (plan) => plan.ops.some(({ key }) => key.startsWith("crowd"));

/** More commands than a link may repeat at once meet an overload, over HTTP. */
export const overloads: World = ({ overload, clients }) =>
  overload !== undefined && clients.some(({ calls }) => calls === "http");

/** Programs of two builds. */
export const builds: World = (plan) => plan.builds !== undefined;

/** Commands that go into an outbox at their end. */
export const late: World = ({ ops: its }) => its.filter(({ outbox }) => outbox === "late").length > 4;

/** So much is put on one list that its topic cannot keep it all. */
export const busyList: World = ({ ops: its }) =>
  its.filter(({ kind, list }) => kind === "append" && list === "list0").length > 16 &&
  its.some(({ kind, list }) => kind === "follow" && list === "list0");

/** A reader so slow that it lags. */
export const rush: World = ({ ops: its }) => its.some(({ key }) => key === "rush");

/** A server that stands still for longer than a client may be without a sign of life. */
export const standstill: World = ({ beats, incidents }) =>
  beats &&
  incidents.some(({ kind, ...rest }) => kind === "pauseServer" && "forMs" in rest && rest.forMs > 80_000);

/** Streams whose loops take their time. */
export const slowReaders: World = ({ ops: its }) =>
  its.filter(({ kind, thinkMs }) => kind === "follow" && thinkMs > 300).length > 1;

/** Clients that hold objects. */
export const holds: World = (plan) => plan.holds.length > 1;

/** Clients that call over wires. */
export const wires: World = ({ clients }) => clients.some(({ calls }) => calls !== "http");
