/** The commands that follow the board: what happens, the items, what is said. */
import { createInterface } from "node:readline";
import type { Item } from "./gen/board/v1/board_pb.ts";
import type { Running } from "./programs.ts";
import { happeningLine, itemLine, sayingLine } from "./show.ts";

/** Prints what happens, from now on. */
export async function tail({ board, signal }: Running): Promise<void> {
  const happenings = board.tail({}, { signal, onGap: sayGap });
  for await (const happening of happenings) print(happeningLine(happening));
}

/** Prints the items, then each one that changes, as it is now. */
export async function watch({ board, signal }: Running): Promise<void> {
  const { items, seq } = await board.list({}, { signal });
  for (const item of items) print(itemLine(item));
  const shown = new Map(items.map((item) => [item.id, itemLine(item)]));
  for await (const { item } of board.tail({ after: seq }, { signal, onGap: sayGap })) {
    if (item !== undefined) printChange(item, shown);
  }
}

function printChange(item: Item, shown: Map<string, string>): void {
  const line = itemLine(item);
  if (shown.get(item.id) === line) return; // something was said about it
  shown.set(item.id, line);
  print(line);
}

/** Prints what is said about an item, and says what is typed. */
export async function chat({ board, signal, stop }: Running, id: string): Promise<void> {
  const lines = createInterface({ input: process.stdin, terminal: process.stdin.isTTY });
  lines.once("SIGINT", stop);
  signal.addEventListener("abort", () => lines.close());
  const says = say(lines, { board, id });
  try {
    for await (const saying of board.chat({ id }, { signal, onGap: sayGap })) print(sayingLine(saying));
  } finally {
    lines.close();
    await says;
  }
}

/** How often the others are told that somebody types. */
const typingEveryMs = 2_000;

async function say(
  lines: ReturnType<typeof createInterface>,
  { board, id }: { readonly board: Running["board"]; readonly id: string },
): Promise<void> {
  let toldAtMs = 0;
  process.stdin.on("keypress", () => {
    if (Date.now() - toldAtMs < typingEveryMs) return;
    toldAtMs = Date.now();
    board.typing({ id }).catch(() => undefined); // it is worth nothing a moment later
  });
  const sent: Promise<void>[] = [];
  for await (const text of lines) {
    if (text.trim() === "") continue;
    // A person waits for it, so the short budget; then it waits in the outbox.
    const call = board.say({ id, text }, { short: true }).then(
      () => undefined,
      (error: unknown) => void process.stderr.write(`board: ${String(error)}\n`),
    );
    sent.push(call);
  }
  await Promise.all(sent);
}

function sayGap({ $gap, count }: { readonly $gap: string; readonly count: number | undefined }): void {
  const what = $gap === "lost" ? `${String(count)} are lost` : "what lay between is not known";
  process.stderr.write(`(the server no longer has all that happened: ${what})\n`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
