/**
 * The link's line in a terminal, as every program on the command line shows it: on stderr, so that what a program
 * prints stays clean, in the same words everywhere, and never more often than it says something new.
 *
 * Source: design "The state of the link".
 */
import { type Clock, systemClock, type Timer } from "../base/clock.ts";
import { defaultTiming } from "../base/constants.ts";
import type { Link } from "../link/link.ts";

/** Where lines go: `process.stderr`, as a rule. */
export interface LineOutput {
  write(text: string): unknown;
}

export interface ShowLineOptions {
  /** Ms for which the link must be down before its line is shown. Default 1 s: a blink is nobody's concern. */
  readonly afterMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * For a program that makes a few calls and ends: shows the line of `down` once, when that lasts.
 *
 * @returns what stops it. It keeps no process alive.
 */
export function showLine(
  link: Pick<Link, "state" | "line">,
  out: LineOutput,
  { afterMs = defaultTiming.lineAfterMs, clock = systemClock }: ShowLineOptions = {},
): () => void {
  let timer: Timer | undefined;
  let shown = false;
  const show = (): void => {
    shown = true;
    write(link, out);
  };
  const look = ({ kind }: Link["state"]["value"]): void => {
    if (kind === "down") {
      if (!shown) timer ??= clock.timer(afterMs, show, { background: true });
      return;
    }
    timer?.cancel();
    timer = undefined;
  };
  look(link.state.value);
  const forget = link.state.subscribe(look);
  return () => {
    timer?.cancel();
    forget();
  };
}

/**
 * For a program that runs until it is stopped: shows the line at each change, once. A `down` that goes on, with
 * another cause or another try, is no change.
 *
 * @returns what stops it.
 */
export function showEachLine(link: Pick<Link, "state" | "line">, out: LineOutput): () => void {
  let shown: Link["state"]["value"]["kind"] = "idle";
  const look = ({ kind }: Link["state"]["value"]): void => {
    if (kind !== shown) write(link, out);
    shown = kind;
  };
  look(link.state.value);
  return link.state.subscribe(look);
}

function write(link: Pick<Link, "line">, out: LineOutput): void {
  const line = link.line();
  if (line !== undefined) out.write(`${line}\n`);
}
