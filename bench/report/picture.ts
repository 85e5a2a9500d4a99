/** Some of the results as bars in an SVG: plain, without scripts or fonts of its own, for light and dark pages. */
import type { WorkloadResult } from "../workload.ts";
import { median } from "./median.ts";
import { valuesOf } from "./summary.ts";
import { number } from "./table.ts";

interface Panel {
  readonly title: string;
  readonly workload: string;
  readonly figure: string;
  readonly rows: readonly string[];
}

const panels: readonly Panel[] = [
  {
    title: "Calls a second, 1,000 in flight (more is better)",
    workload: "calls/1,000 in flight",
    figure: "calls/s",
    rows: [
      "holdfast query, wire",
      "holdfast command, wire",
      "holdfast durable command, wire",
      "ws, batched",
      "ws",
      "socket.io",
      "gRPC, duplex",
      "capnweb",
      "tRPC, WebSocket",
    ],
  },
  {
    title: "Calls a second over HTTP, 64 in flight (more is better)",
    workload: "calls/64 in flight",
    figure: "calls/s",
    rows: [
      "holdfast query, HTTP/2",
      "holdfast command, HTTP/2",
      "holdfast query, HTTP/1.1",
      "node:http2",
      "gRPC",
      "Connect, HTTP/2",
      "Connect, HTTP/1.1",
      "tRPC, HTTP",
    ],
  },
  {
    title: "Items of one stream a second (more is better)",
    workload: "streams/64 bytes",
    figure: "items/s",
    rows: [
      "holdfast, HTTP/2",
      "holdfast, shared wire",
      "ws",
      "Connect, HTTP/2",
      "socket.io",
      "gRPC",
      "tRPC, WebSocket",
    ],
  },
  {
    title: "One item to 1,000 followers: ms until the last has it (less is better)",
    workload: "fan-out/a topic to 1,000",
    figure: "last ms",
    rows: [
      "holdfast, a stream each",
      "holdfast, a WebSocket each",
      "holdfast, all on one WebSocket",
      "ws, a socket each",
      "socket.io, a socket each",
      "gRPC, all on one connection",
      "Connect, all on one connection",
      "tRPC, all on one WebSocket",
    ],
  },
  {
    title: "1,000 subscriptions live again after a cut: ms (less is better)",
    workload: "reconnect/1,000 references",
    figure: "ms from the new connection",
    rows: [
      "holdfast, none changed",
      "holdfast, all changed",
      "ws, one message for all",
      "ws, a message each",
      "socket.io, joined again",
      "tRPC, subscribed again",
    ],
  },
  {
    title: "Bytes for a change of one field of one of 100 lines (less is better)",
    workload: "state/field",
    figure: "bytes each",
    rows: [
      "holdfast, msgpack",
      "holdfast, JSON",
      "Connect, the page in protobuf, gzip",
      "ws, the page in JSON",
    ],
  },
];

const width = 820;
const labelWidth = 250;
const barMostWidth = width - labelWidth - 110;
const rowHeight = 22;

/** What was not measured is left out. */
export function pictureOf(results: readonly WorkloadResult[]): string {
  let top = 10;
  const parts: string[] = [];
  for (const panel of panels) {
    const bars = barsOf(panel, results);
    if (bars.length === 0) continue;
    const most = Math.max(...bars.map(({ value }) => value));
    parts.push(text(10, top + 16, panel.title, "title"));
    top += 28;
    for (const { row, value } of bars) {
      const bar = Math.max(1, (value / most) * barMostWidth);
      parts.push(
        text(labelWidth - 8, top + 15, row, "label"),
        `<rect x="${labelWidth}" y="${top + 3}" width="${bar.toFixed(1)}" height="${rowHeight - 6}" class="${row.startsWith("holdfast") ? "own" : "peer"}"/>`,
        text(labelWidth + bar + 6, top + 15, number(value), "value"),
      );
      top += rowHeight;
    }
    top += 18;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" role="img">
<title>holdfast beside its peers</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 14px }
.label { text-anchor: end }
.own { fill: #1f7a8c }
.peer { fill: #a0a8b0 }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de } .own { fill: #4fb3c8 } .peer { fill: #6e7681 } }
</style>
${parts.join("\n")}
</svg>
`;
}

function barsOf({ workload, figure, rows }: Panel, results: readonly WorkloadResult[]) {
  const measured = results.find((result) => result.workload === workload)?.rows ?? [];
  return rows.flatMap((row) => {
    const its = measured.find((one) => one.row === row);
    const value = its === undefined ? Number.NaN : median(valuesOf(its, figure));
    return Number.isNaN(value) ? [] : [{ row, value }];
  });
}

function text(x: number, y: number, its: string, kind: string): string {
  const safe = its.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${kind}">${safe}</text>`;
}
