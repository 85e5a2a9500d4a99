/** What is sent at most once is sent at most once, unless it certainly did not arrive; and runs once in one process. */
import type { WorldEnd } from "../world.ts";
import { groupBy } from "./tally.ts";

export function sendings(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const network = end.history.of("network").map(({ event }) => event);
  const shouts = network.filter(({ request }) => request?.url.endsWith("/Shout") === true);
  for (const [call, events] of groupBy(
    shouts,
    ({ request }) => request?.header.get("holdfast-call")?.slice(1, 23) ?? "",
  )) {
    let maybeThere = false;
    let leaving = false;
    for (const { kind, text = "", header } of events) {
      const mark = kind === "heard" ? header?.get("holdfast-settled") : undefined;
      // The server says itself that it has not begun.
      if (mark === "none" || mark === "later") maybeThere = false;
      if (kind === "heard") leaving = false;
      if (kind === "sent") {
        if (maybeThere) breaches.push(`call ${call} was to be sent at most once, and left twice`);
        leaving = true;
      }
      if (kind === "arrived" || (kind === "failed" && leaving && !text.includes("not begun")))
        maybeThere = true;
      if (kind === "failed") leaving = false;
    }
  }
  return breaches;
}
