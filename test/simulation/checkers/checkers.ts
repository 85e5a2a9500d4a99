/** Every invariant, by its name. A checker gives a line for each breach. */
import type { WorldEnd } from "../world.ts";
import { activations } from "./activations.ts";
import { budgets } from "./budgets.ts";
import { builds } from "./builds.ts";
import { callers } from "./callers.ts";
import { connects } from "./connects.ts";
import { heldOrder } from "./held-order.ts";
import { leftovers } from "./leftovers.ts";
import { linkStates } from "./link-states.ts";
import { marks } from "./marks.ts";
import { once } from "./once.ts";
import { order } from "./order.ts";
import { outbox } from "./outbox.ts";
import { outcomes } from "./outcomes.ts";
import { liveness } from "./liveness.ts";
import { parkedCalls } from "./parked-calls.ts";
import { publishing } from "./publishing.ts";
import { references } from "./references.ts";
import { repeats } from "./repeats.ts";
import { sendings } from "./sendings.ts";
import { settledCalls } from "./settled-calls.ts";
import { sessions } from "./sessions.ts";
import { signals } from "./signals.ts";
import { streamSigns } from "./stream-signs.ts";
import { streams } from "./streams.ts";

export type Checker = (end: WorldEnd) => readonly string[];

export const checkers: Readonly<Record<string, Checker>> = {
  once,
  outcomes,
  budgets,
  callers,
  order,
  marks,
  sendings,
  settledCalls,
  outbox,
  linkStates,
  repeats,
  connects,
  liveness,
  signals,
  streams,
  publishing,
  streamSigns,
  sessions,
  activations,
  references,
  heldOrder,
  parkedCalls,
  builds,
  leftovers,
};
