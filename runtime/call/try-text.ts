/** How a try ended and what follows, as the words of a log. */
import type { UnaryResponse } from "@connectrpc/connect";
import { headerNames } from "./headers.ts";
import type { TryEnd } from "./outcome.ts";

export const nextTexts = {
  reconnect: "again when the server answers a probe",
  refresh: "again with a fresh token",
  end: "the call ends",
} as const;

export function endText(end: Exclude<TryEnd, { kind: "reply" }>): string {
  const cause = end.kind === "connection-fault" ? end.fault : end.error;
  return `${end.kind.replace("-", " ")}: ${cause instanceof Error ? cause.message : "no mark of a holdfast server"}`;
}

export function isRepeat(response: UnaryResponse): boolean {
  return response.header.has(headerNames.repeat) || response.trailer.has(headerNames.repeat);
}
