/**
 * The board on the command line: `npm run board -- post "buy milk"`. A short command is one call; while the server
 * does not answer, one line on stderr says so, and the call goes on inside its budget. `tail`, `watch`, `chat` and
 * `top` run until they are stopped, through whatever happens to the server.
 */
import { Command } from "commander";
import { chat, tail, watch } from "./live.ts";
import { runOn, type Settings, withBoard, withLink } from "./programs.ts";
import { itemLine, presenceLine, waitingLine } from "./show.ts";
import { Top } from "./top.ts";
import type { Item } from "./gen/board/v1/board_pb.ts";

const program = new Command("board")
  .description("A small issue board for people and agents")
  .option("--url <url>", "where the board's server is", process.env["BOARD_URL"] ?? "http://127.0.0.1:8080")
  .option("--as <name>", "who you are", process.env["BOARD_USER"] ?? process.env["USER"] ?? "somebody")
  .option("--budget <seconds>", "how long a call may take", Number);

const settings = (): Settings => program.opts<Settings>();

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function show(item: Item | undefined): void {
  if (item !== undefined) print(itemLine(item));
}

program
  .command("list")
  .description("show the items, newest first")
  .option("--all", "also the closed ones", false)
  .action(({ all }: { all: boolean }) =>
    withBoard(settings(), async (board, options) => {
      const { items } = await board.list({ all }, options);
      for (const item of items) show(item);
      if (items.length === 0) print("nothing to do");
    }),
  );
program
  .command("post <title>")
  .description("put an item on the board")
  .action((title: string) =>
    withBoard(settings(), async (board, options) => show((await board.post({ title }, options)).item)),
  );
program
  .command("claim <id>")
  .description("take an item")
  .action((id: string) =>
    withBoard(settings(), async (board, options) => {
      const { item, note } = await board.claim({ id }, options);
      show(item);
      if (note !== "") print(`(${note})`);
    }),
  );
program
  .command("release <id>")
  .description("give an item back")
  .action((id: string) =>
    withBoard(settings(), async (board, options) => show((await board.release({ id }, options)).item)),
  );
program
  .command("close <id>")
  .description("say that an item is done")
  .action((id: string) =>
    withBoard(settings(), async (board, options) => show((await board.close({ id }, options)).item)),
  );
program
  .command("typing <id>")
  .description("say that you are writing on an item")
  .action((id: string) =>
    withBoard(settings(), async (board, options) => {
      await board.typing({ id }, options);
    }),
  );

program
  .command("say <id> <text>")
  .description("say something about an item")
  .action((id: string, text: string) =>
    withBoard(settings(), async (board, options) => {
      await board.say({ id, text }, options);
    }),
  );
program
  .command("nudge <id>")
  .description("ask whoever holds an item for news")
  .action((id: string) =>
    withBoard(settings(), async (board, options) => {
      await board.nudge({ id }, options);
    }),
  );
program
  .command("who")
  .description("show who is there")
  .action(() =>
    withBoard(settings(), async (board, options) => {
      const { present } = await board.who({}, options);
      for (const one of present) print(presenceLine(one, Date.now()));
      if (present.length === 0) print("nobody");
    }),
  );

program
  .command("tail")
  .description("show what happens, as it happens")
  .action(() => runOn(settings(), { doing: "tail" }, tail));
program
  .command("watch")
  .description("show the items, and each that changes")
  .action(() => runOn(settings(), { doing: "watch" }, watch));
program
  .command("chat <id>")
  .description("show what is said about an item, and say what is typed")
  .action((id: string) => runOn(settings(), { doing: `chat ${id}` }, (running) => chat(running, id)));
program
  .command("top")
  .description("show the board as a live table")
  .action(async () => {
    if (!process.stdin.isTTY || !process.stdout.isTTY) {
      process.stderr.write("board: top needs a terminal; `board watch` does without\n");
      process.exitCode = 1;
      return;
    }
    const top = new Top();
    await runOn(settings(), { doing: "top", onAsk: top.onAsk, showLink: top.showLink }, (running) =>
      top.run(running),
    );
  });

const outbox = program.command("outbox").description("commands that wait for the server");
outbox
  .command("list")
  .description("show what waits, in the order in which it will be sent")
  .action(() =>
    withLink(
      settings(),
      async (link) => {
        const items = await link.outbox.list();
        for (const item of items) print(waitingLine(item));
        if (items.length === 0) print("nothing waits");
        for (const { where, why } of link.outbox.setAside.value) {
          process.stderr.write(`set aside: ${where}: ${why}\n`);
        }
      },
      false,
    ),
  );
outbox
  .command("send")
  .description("send what waits, now")
  .action(() =>
    withLink(
      settings(),
      async (link) => {
        const { waitingCount, cause } = await link.outbox.send();
        if (waitingCount === 0) print("nothing waits");
        else throw cause instanceof Error ? cause : new Error(`${waitingCount} commands wait still`);
      },
      false,
    ),
  );
outbox
  .command("drop <call-id>")
  .description("take a command out, unsent")
  .action((callId: string) =>
    withLink(
      settings(),
      async (link) => {
        const outcome = await link.outbox.drop(callId);
        process.stdout.write(
          outcome === "not-run" ? "taken out; it did not run\n" : "taken out; it may have run\n",
        );
      },
      false,
    ),
  );

await program.parseAsync();
