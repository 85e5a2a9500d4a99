/** The board as a live table: the items, who is typing, who is there; drawn again at each change. */
import type { Link } from "holdfast";
import type { BoardClient } from "./gen/board/v1/board_holdfast.ts";
import type { Item, Presence } from "./gen/board/v1/board_pb.ts";
import type { Running } from "./programs.ts";
import { happeningLine, itemLine, presenceLine } from "./show.ts";

/** Typing and who is there are in no stream, so they are looked at from time to time. */
const lookEveryMs = 2_000;
/** The link's line counts seconds. */
const drawEveryMs = 1_000;

/** The terminal's own screen comes back when the command ends, whatever ends it. */
const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const restOfLine = "\u001b[K";
const restOfScreen = "\u001b[J";

/** What is on the screen. */
interface Picture {
  items: readonly Item[];
  present: readonly Presence[];
  ask: string;
  newest: string;
}

export class Top {
  readonly #picture: Picture = { items: [], present: [], ask: "", newest: "" };
  #link: Link | undefined;

  /** Where `runOn` shows the link: in the first line of the screen. */
  readonly showLink = (link: Link): (() => void) => {
    this.#link = link;
    return link.state.subscribe(() => this.#draw());
  };

  readonly onAsk = (line: string): void => {
    this.#picture.ask = line;
    this.#draw();
  };

  /** Runs until q, Ctrl-C or a refusal. */
  async run({ board, signal, stop }: Running): Promise<void> {
    const restore = openScreen(stop, () => this.#draw());
    const look = (): void => void this.#look(board, signal);
    const timers = [setInterval(look, lookEveryMs), setInterval(() => this.#draw(), drawEveryMs)];
    try {
      look();
      for await (const happening of board.tail({}, { signal, onGap: look })) {
        this.#picture.newest = happeningLine(happening);
        look();
      }
    } finally {
      for (const timer of timers) clearInterval(timer);
      restore();
      const line = this.#link?.line();
      if (!signal.aborted && line !== undefined) process.stderr.write(`${line}\n`);
    }
  }

  /** A look that fails is no news: the link's line says why. */
  async #look(board: BoardClient, signal: AbortSignal): Promise<void> {
    const options = { signal, short: true };
    try {
      const [{ items }, { present }] = await Promise.all([board.list({}, options), board.who({}, options)]);
      this.#picture.items = items;
      this.#picture.present = present;
      this.#draw();
    } catch {
      return;
    }
  }

  #draw(): void {
    // A terminal without a size says 0.
    const columns = process.stdout.columns || 80;
    const rows = process.stdout.rows || 24;
    const { items, present, ask, newest } = this.#picture;
    const nowMs = Date.now();
    const lines = [
      this.#link?.line() ?? `the board at ${this.#link?.url ?? ""}`,
      ask,
      ...items.map(itemLine),
      "",
      newest,
      "",
      ...present.map((one) => presenceLine(one, nowMs)),
    ];
    const fitting = lines.slice(0, rows - 1).map((line) => `${line.slice(0, columns)}${restOfLine}`);
    process.stdout.write(`${home}${[...fitting, "q quits"].join("\r\n")}${restOfScreen}`);
  }
}

/** @returns what gives the terminal back. */
function openScreen(stop: () => void, draw: () => void): () => void {
  const { stdin, stdout } = process;
  const key = (bytes: Buffer): void => {
    if (["q", "Q", "\u0003"].includes(bytes.toString())) stop(); // raw, Ctrl-C is a key like others
  };
  const leaveScreen = (): void => void stdout.write(leave);
  stdout.write(enter);
  process.once("exit", leaveScreen);
  stdin.setRawMode(true).on("data", key);
  stdout.on("resize", draw);
  return () => {
    process.off("exit", leaveScreen);
    stdout.off("resize", draw);
    stdin.off("data", key).setRawMode(false).pause();
    leaveScreen();
  };
}
