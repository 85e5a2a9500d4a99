/** How a try ended and what follows, as the words of a log. */
import type { UnaryResponse } from "@connectrpc/connect";
import type { UnaryDefinition } from "../base/definition.ts";
import { type Log, shortId, silentLog } from "../base/log.ts";
import { headerNames } from "./headers.ts";
import type { TryEnd } from "./outcome.ts";

export const nextTexts = {
  reconnect: "again when the server answers a probe",
  refresh: "again with a fresh token",
  end: "the call ends",
} as const;

/** One line of a try, for whoever looks into what a call does. */
export function tellTry(
  log: Log,
  { method }: UnaryDefinition,
  callId: string | undefined,
  tries: number,
  what: string,
): void {
  if (log === silentLog) return;
  const text = `${method.parent.typeName}/${method.name} try ${tries}: ${what}`;
  log.info(text, callId === undefined ? {} : { call: shortId(callId) });
}

export const answeredText = "answered";
export const keptText = "answered with what was kept";

export function endText(end: Exclude<TryEnd, { kind: "reply" }>): string {
  const cause = end.kind === "connection-fault" ? end.fault : end.error;
  return `${end.kind.replace("-", " ")}: ${cause instanceof Error ? cause.message : "no mark of a holdfast server"}`;
}

export function isRepeat(response: UnaryResponse): boolean {
  return response.header.has(headerNames.repeat) || response.trailer.has(headerNames.repeat);
}
