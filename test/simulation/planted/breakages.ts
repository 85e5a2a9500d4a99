/**
 * Breakages of the sources, each of which a simulation must find. They are applied to what a search loads; what ships
 * has no switch for them.
 */
import type { Breakage } from "./breakage.ts";
import { schemas } from "./build-breakages.ts";
import { client, lanes } from "./call-breakages.ts";
import { objects } from "./hold-breakages.ts";
import { streams } from "./live-breakages.ts";
import { outbox } from "./outbox-breakages.ts";
import { fences, journal } from "./server-breakages.ts";

export const breakages: readonly Breakage[] = [
  ...journal,
  ...fences,
  ...lanes,
  ...client,
  ...outbox,
  ...streams,
  ...objects,
  ...schemas,
];
