/**
 * The board on the command line: `npm run board -- post "buy milk"`. Each command is one call; while the server
 * does not answer, one line on stderr says so, and the call goes on inside its budget.
 */
import { Command } from "commander";
import { HoldfastError, type Link, linkOf, type OutboxItem, type Settlement } from "holdfast";
import { type BoardClient, boardClient } from "./gen/board/v1/board_holdfast.ts";
import { type Item, ItemState } from "./gen/board/v1/board_pb.ts";
import { lineAfterAWhile } from "./terminal-line.ts";

const program = new Command("board")
  .description("A small issue board for people and agents")
  .option("--url <url>", "where the board's server is", process.env["BOARD_URL"] ?? "http://127.0.0.1:8080")
  .option("--as <name>", "who you are", process.env["BOARD_USER"] ?? process.env["USER"] ?? "somebody")
  .option("--budget <seconds>", "how long a call may take", Number);

interface Settings {
  readonly url: string;
  readonly as: string;
  readonly budget?: number;
}

/** Runs one command on a link of its own, and ends with the exit code that a shell expects. */
async function withLink(use: (link: Link) => Promise<void>, atStart: boolean): Promise<void> {
  const { url, as } = program.opts<Settings>();
  let link: Link | undefined;
  try {
    link = linkOf(url, { account: as, token: () => as, outbox: { atStart } });
    link.outbox.onSettled(showSettled);
    const forget = lineAfterAWhile(link, process.stderr);
    try {
      await use(link);
    } finally {
      forget();
    }
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`board: ${error instanceof HoldfastError ? error.rawMessage : String(error)}\n`);
  } finally {
    await link?.close();
  }
}

/**
 * The same for a call. What waits from earlier ones goes first, and a query does not wait for that; so the
 * program stays until it has left, now that the server answers.
 */
function withBoard(
  use: (board: BoardClient, options: { timeoutMs?: number }) => Promise<void>,
): Promise<void> {
  const { budget } = program.opts<Settings>();
  const options = budget === undefined ? {} : { timeoutMs: budget * 1000 };
  return withLink(async (link) => {
    await use(boardClient(link), options);
    if ((await link.outbox.list()).length > 0) await link.outbox.send();
  }, true);
}

/** A command of an earlier run has left the outbox. */
function showSettled(settlement: Settlement): void {
  const { method, callId } = settlement;
  if (settlement.kind === "failure" && settlement.outcome === "dropped") return;
  const end = settlement.kind === "reply" ? "done" : `${settlement.outcome}: ${settlement.error.rawMessage}`;
  process.stderr.write(`outbox: ${method} ${callId} ${end}\n`);
}

function showWaiting({ callId, method, madeAtMs, mayHaveRun }: OutboxItem): void {
  const made = new Date(madeAtMs).toISOString();
  process.stdout.write(`${callId}  ${made}  ${method}${mayHaveRun ? "  (may have run)" : ""}\n`);
}

const states = new Map<ItemState, string>([
  [ItemState.OPEN, "open"],
  [ItemState.CLAIMED, "claimed"],
  [ItemState.CLOSED, "closed"],
]);

function show(item: Item | undefined): void {
  if (item === undefined) return;
  const holder = item.heldBy === "" ? "" : ` by ${item.heldBy}`;
  const typing = item.typing === "" ? "" : ` (${item.typing} is typing)`;
  process.stdout.write(
    `${item.id.padEnd(10)} ${`${states.get(item.state) ?? ""}${holder}`.padEnd(20)} ${item.title}${typing}\n`,
  );
}

program
  .command("list")
  .description("show the items, newest first")
  .option("--all", "also the closed ones", false)
  .action(({ all }: { all: boolean }) =>
    withBoard(async (board, options) => {
      const { items } = await board.list({ all }, options);
      for (const item of items) show(item);
      if (items.length === 0) process.stdout.write("nothing to do\n");
    }),
  );
program
  .command("post <title>")
  .description("put an item on the board")
  .action((title: string) =>
    withBoard(async (board, options) => show((await board.post({ title }, options)).item)),
  );
program
  .command("claim <id>")
  .description("take an item")
  .action((id: string) =>
    withBoard(async (board, options) => {
      const { item, note } = await board.claim({ id }, options);
      show(item);
      if (note !== "") process.stdout.write(`(${note})\n`);
    }),
  );
program
  .command("release <id>")
  .description("give an item back")
  .action((id: string) =>
    withBoard(async (board, options) => show((await board.release({ id }, options)).item)),
  );
program
  .command("close <id>")
  .description("say that an item is done")
  .action((id: string) =>
    withBoard(async (board, options) => show((await board.close({ id }, options)).item)),
  );
program
  .command("typing <id>")
  .description("say that you are writing on an item")
  .action((id: string) =>
    withBoard(async (board, options) => {
      await board.typing({ id }, options);
    }),
  );

const outbox = program.command("outbox").description("commands that wait for the server");
outbox
  .command("list")
  .description("show what waits, in the order in which it will be sent")
  .action(() =>
    withLink(async (link) => {
      const items = await link.outbox.list();
      for (const item of items) showWaiting(item);
      if (items.length === 0) process.stdout.write("nothing waits\n");
      for (const { where, why } of link.outbox.setAside.value) {
        process.stderr.write(`set aside: ${where}: ${why}\n`);
      }
    }, false),
  );
outbox
  .command("send")
  .description("send what waits, now")
  .action(() =>
    withLink(async (link) => {
      const { waitingCount, cause } = await link.outbox.send();
      if (waitingCount === 0) process.stdout.write("nothing waits\n");
      else throw cause instanceof Error ? cause : new Error(`${waitingCount} commands wait still`);
    }, false),
  );
outbox
  .command("drop <call-id>")
  .description("take a command out, unsent")
  .action((callId: string) =>
    withLink(async (link) => {
      const outcome = await link.outbox.drop(callId);
      process.stdout.write(
        outcome === "not-run" ? "taken out; it did not run\n" : "taken out; it may have run\n",
      );
    }, false),
  );

await program.parseAsync();
