/** What holdfast set out to reach, as ratios in one run, and what it has reached. */
import type { WorkloadResult } from "../workload.ts";
import { median } from "./median.ts";
import { ratio, valuesOf } from "./summary.ts";
import { number } from "./table.ts";

/** A figure of one row, alone or as a ratio to another row (`over`) or the difference to it (`above`). */
interface Target {
  readonly says: string;
  readonly workload: string;
  readonly figure: string;
  readonly row: string;
  readonly over?: string;
  readonly above?: string;
  readonly want: { readonly atLeast: number } | { readonly atMost: number };
}

const thousand = "calls/1,000 in flight";
const fanOut = "fan-out/a topic to 1,000";
const again = "reconnect/1,000 references";
const size = "start/size in a browser";

const targets: readonly Target[] = [
  {
    says: "commands over a wire, 1,000 in flight, times socket.io",
    workload: thousand,
    figure: "calls/s",
    row: "holdfast command, wire",
    over: "socket.io",
    want: { atLeast: 3 },
  },
  {
    says: "the same, times raw ws with all of a turn in one frame",
    workload: thousand,
    figure: "calls/s",
    row: "holdfast command, wire",
    over: "ws, batched",
    want: { atLeast: 0.67 },
  },
  {
    says: "latency of a command over a wire, 1 in flight, times raw ws",
    workload: "calls/1 in flight",
    figure: "p50 ms",
    row: "holdfast command, wire",
    over: "ws",
    want: { atMost: 1.4 },
  },
  ...["HTTP/2", "HTTP/1.1"].map(
    (version): Target => ({
      says: `queries over ${version}, 64 in flight, times Connect`,
      workload: "calls/64 in flight",
      figure: "calls/s",
      row: `holdfast query, ${version}`,
      over: `Connect, ${version}`,
      want: { atLeast: version === "HTTP/2" ? 3 : 1 },
    }),
  ),
  {
    says: "durable commands over a wire, 64 in flight, times those with a store in memory",
    workload: "calls/64 in flight",
    figure: "calls/s",
    row: "holdfast durable command, wire",
    over: "holdfast command, wire",
    want: { atLeast: 0.5 },
  },
  ...["Connect, HTTP/2", "gRPC"].map(
    (peer): Target => ({
      says: `items of one stream, times ${peer}`,
      workload: "streams/64 bytes",
      figure: "items/s",
      row: "holdfast, HTTP/2",
      over: peer,
      want: { atLeast: 4 },
    }),
  ),
  {
    says: "an item to 1,000 WebSockets: the last delivery, times raw ws",
    workload: fanOut,
    figure: "last ms",
    row: "holdfast, a WebSocket each",
    over: "ws, a socket each",
    want: { atMost: 1.2 },
  },
  {
    says: "an item to 1,000 streams: the last delivery, times Connect",
    workload: fanOut,
    figure: "last ms",
    row: "holdfast, a stream each",
    over: "Connect, all on one connection",
    want: { atMost: 0.14 },
  },
  {
    says: "the server's memory for an idle link with a wire, times raw ws",
    workload: "memory/an idle link",
    figure: "server RSS KiB",
    row: "holdfast, wire",
    over: "ws",
    want: { atMost: 1.5 },
  },
  {
    says: "the server's memory for a follower on a shared wire, KiB",
    workload: "memory/a follower",
    figure: "server heap KiB",
    row: "holdfast, all on one WebSocket",
    want: { atMost: 1 },
  },
  {
    says: "the server's memory for a held reference, KiB",
    workload: "memory/a reference",
    figure: "server heap KiB",
    row: "holdfast, the reference alone",
    want: { atMost: 1 },
  },
  {
    says: "1,000 references live again, none changed, times raw ws",
    workload: again,
    figure: "ms from the new connection",
    row: "holdfast, none changed",
    over: "ws, one message for all",
    want: { atMost: 2 },
  },
  {
    says: "the same, in times of tRPC",
    workload: again,
    figure: "ms from the new connection",
    row: "holdfast, none changed",
    over: "tRPC, subscribed again",
    want: { atMost: 0.1 },
  },
  ...(["up", "down"] as const).flatMap((way): Target[] => [
    {
      says: `bytes ${way} of an unchanged reference, msgpack, params included`,
      workload: again,
      figure: `bytes ${way} each`,
      row: "holdfast, none changed",
      want: { atMost: 40 },
    },
    {
      says: `the same in JSON`,
      workload: again,
      figure: `bytes ${way} each`,
      row: "holdfast in JSON, none changed",
      want: { atMost: 120 },
    },
  ]),
  {
    says: "a page with calls: bytes above protobuf-es",
    workload: size,
    figure: "gzip bytes",
    row: "holdfast, calls",
    above: "protobuf-es alone",
    want: { atMost: 12_000 },
  },
  {
    says: "the same with streams, references and wires",
    workload: size,
    figure: "gzip bytes",
    row: "holdfast, calls, streams, references and wires",
    above: "protobuf-es alone",
    want: { atMost: 22_000 },
  },
  ...[
    { size: "small", msgpack: 4, json: 2 },
    { size: "medium", msgpack: 8, json: 3 },
    { size: "large", msgpack: 8, json: 3 },
  ].flatMap((one): Target[] => [
    {
      says: `msgpack of a ${one.size} message, times protobuf-es 2.12 binary`,
      workload: `codec/${one.size}`,
      figure: "a second",
      row: "holdfast msgpack",
      over: "protobuf-es 2.12 binary",
      want: { atLeast: one.msgpack },
    },
    {
      says: `JSON of a ${one.size} message, times protobuf-es 2.12 JSON`,
      workload: `codec/${one.size}`,
      figure: "a second",
      row: "holdfast JSON",
      over: "protobuf-es 2.12 JSON",
      want: { atLeast: one.json },
    },
  ]),
];

/** As a table; what was not measured is left out. */
export function targetsTable(results: readonly WorkloadResult[]): string {
  const lines = targets.flatMap((target) => {
    const reached = reachedBy(target, results);
    if (Number.isNaN(reached)) return [];
    const [sign, wanted] = "atLeast" in target.want ? ["≥", target.want.atLeast] : ["≤", target.want.atMost];
    const isMet = sign === "≥" ? reached >= wanted : reached <= wanted;
    return [`| ${target.says} | ${sign} ${number(wanted)} | ${number(reached)} | ${isMet ? "yes" : "no"} |`];
  });
  if (lines.length === 0) return "";
  return ["| target | wanted | reached | met |", "| --- | --: | --: | --- |", ...lines].join("\n");
}

function reachedBy(
  { workload, figure, row, over, above }: Target,
  results: readonly WorkloadResult[],
): number {
  const rows = results.find((result) => result.workload === workload)?.rows ?? [];
  const values = (name: string | undefined): readonly number[] =>
    rows.filter((one) => one.row === name).flatMap((one) => valuesOf(one, figure));
  if (over !== undefined) return ratio(values(row), values(over));
  return above === undefined ? median(values(row)) : median(values(row)) - median(values(above));
}
