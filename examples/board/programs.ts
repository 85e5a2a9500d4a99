/**
 * The two kinds of the board's commands: those that make a call and end, and those that run until they are stopped.
 * Each has one link, shows its line in its place, and ends with the code that a shell expects.
 */
import { HoldfastError, type Link, linkOf } from "holdfast";
import { runAgain, showEachLine, showLine } from "holdfast/node";
import { Board, type BoardClient, boardClient } from "./gen/board/v1/board_holdfast.ts";
import type { Ask } from "./gen/board/v1/board_pb.ts";
import { askLine, settledLine } from "./show.ts";

export interface Settings {
  readonly url: string;
  readonly as: string;
  /** Seconds. */
  readonly budget?: number;
}

/** This program's build, which a server may refuse. */
const build = process.env["BOARD_BUILD"] ?? "1.0.0";

function openLink({ url, as }: Settings, atStart: boolean): Link {
  const link = linkOf(url, { account: as, token: () => as, build, outbox: { atStart } });
  link.outbox.onSettled((settlement) => {
    const line = settledLine(settlement);
    if (line !== undefined) process.stderr.write(`${line}\n`);
  });
  return link;
}

/** A short command. What waits from earlier ones is sent with `atStart`. */
export async function withLink(
  settings: Settings,
  use: (link: Link) => Promise<void>,
  atStart: boolean,
): Promise<void> {
  let link: Link | undefined;
  try {
    link = openLink(settings, atStart);
    const stop = showLine(link, process.stderr);
    try {
      await use(link);
    } finally {
      stop();
    }
  } catch (error) {
    fail(error);
  } finally {
    await link?.close();
  }
}

/**
 * A short command that makes a call. What waits from earlier ones goes first, and a query does not wait for that; so
 * the program stays until it has left, now that the server answers.
 */
export function withBoard(
  settings: Settings,
  use: (board: BoardClient, options: { timeoutMs?: number }) => Promise<void>,
): Promise<void> {
  const { budget } = settings;
  const options = budget === undefined ? {} : { timeoutMs: budget * 1000 };
  return withLink(
    settings,
    async (link) => {
      await use(boardClient(link), options);
      if ((await link.outbox.list()).length > 0) await link.outbox.send();
    },
    true,
  );
}

/** What a command that runs on has. */
export interface Running {
  readonly link: Link;
  readonly board: BoardClient;
  /** Aborts when the person stops the command. */
  readonly signal: AbortSignal;
  /** Stops it. */
  readonly stop: () => void;
}

export interface RunOptions {
  /** What others see that this person does. */
  readonly doing: string;
  /** Shows what somebody asks. Default: a line on stderr. */
  readonly onAsk?: (line: string) => void;
  /** Shows the link's changes. Default: a line on stderr each. */
  readonly showLink?: (link: Link) => () => void;
}

/**
 * A command that runs until it is stopped. Its server may refuse this build; then it waits for a new one and runs that
 * in its place. A refused sign-in ends it, and the link's line has said so.
 */
export async function runOn(
  settings: Settings,
  { doing, onAsk = toStderr, showLink = (link) => showEachLine(link, process.stderr) }: RunOptions,
  use: (running: Running) => Promise<void>,
): Promise<void> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  const link = openLink(settings, true);
  const hide = showLink(link);
  try {
    beat(link, doing, onAsk);
    await use({ link, board: boardClient(link), signal: stopped.signal, stop });
  } catch (error) {
    if (stopped.signal.aborted) return;
    if (link.state.value.kind === "refused") process.exitCode = 1;
    else fail(error);
  } finally {
    const { value: state } = link.state;
    hide();
    await link.close();
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    if (!stopped.signal.aborted && state.kind === "refused" && state.reason === "BUILD_REFUSED") {
      toStderr("waits for a new build of this program");
      process.exitCode = await runAgain();
    }
  }
}

/** Tells the server that this person is there, and shows each ask once. */
function beat(link: Link, doing: string, onAsk: (line: string) => void): void {
  let askedUpTo = 0;
  const show = (ask: Ask): void => {
    if (ask.number <= askedUpTo) return; // the heartbeat that says so is not out yet
    askedUpTo = ask.number;
    onAsk(askLine(ask));
  };
  link.beat(
    Board.alive,
    () => ({ doing, askedUpTo }),
    ({ asks }) => asks.forEach(show),
  );
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(error: unknown): void {
  process.exitCode = 1;
  toStderr(`board: ${error instanceof HoldfastError ? error.rawMessage : String(error)}`);
}
