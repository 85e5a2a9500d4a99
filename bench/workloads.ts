/** All that can be measured, in the order of the page. */
import type { Workload } from "./workload.ts";
import { workloads as calls } from "./workloads/calls.ts";
import { workloads as codec } from "./workloads/codec.ts";
import { workloads as durable } from "./workloads/durable.ts";
import { workloads as fanOut } from "./workloads/fan-out.ts";
import { workloads as memory } from "./workloads/memory.ts";
import { workloads as reconnect } from "./workloads/reconnect.ts";
import { workloads as start } from "./workloads/start.ts";
import { workloads as stateBytes } from "./workloads/state-bytes.ts";
import { workloads as streams } from "./workloads/streams.ts";

export const workloads: readonly Workload[] = [
  ...calls,
  ...durable,
  ...streams,
  ...fanOut,
  ...reconnect,
  ...memory,
  ...stateBytes,
  ...start,
  ...codec,
];
