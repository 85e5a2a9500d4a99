/**
 * A notebook on the command line: `npm run notebook -- add shopping milk`. While the server does not answer, one line
 * on stderr says so, and the command waits for the notebook; `watch` follows it through whatever happens.
 */
import { Command } from "commander";
import { HoldfastError, type Link, linkOf } from "holdfast";
import { showEachLine, showLine } from "holdfast/node";
import { Notebook } from "./gen/notebook/v1/notebook_holdfast.ts";
import { entryLines } from "./show.ts";

interface Settings {
  readonly url: string;
  readonly as: string;
}

const program = new Command("notebook")
  .description("Notebooks that the people of a session share")
  .option("--url <url>", "where the server is", process.env["NOTEBOOK_URL"] ?? "http://127.0.0.1:8081")
  .option("--as <name>", "who you are", process.env["NOTEBOOK_USER"] ?? process.env["USER"] ?? "somebody");

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function withLink(
  use: (link: Link) => Promise<void>,
  show: (link: Link, out: NodeJS.WriteStream) => () => void = showLine,
): Promise<void> {
  const { url, as } = program.opts<Settings>();
  let link: Link | undefined;
  try {
    link = linkOf(url, { account: as, token: () => as });
    const stop = show(link, process.stderr);
    try {
      await use(link);
    } finally {
      stop();
    }
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`notebook: ${error instanceof HoldfastError ? error.rawMessage : String(error)}\n`);
  } finally {
    // Releases what is held, too.
    await link?.close();
  }
}

/** What only an editor can do: with `variant` the reference has the editor's members, and a reader is told at once. */
const editorOf = (link: Link, session: string) => link.get(Notebook, { session }, { variant: "editor" });

program
  .command("show <session>")
  .description("show what is written")
  .action((session: string) =>
    withLink(async (link) => {
      const notebook = await link.get(Notebook, { session });
      for (const line of entryLines(notebook.entries.value)) print(line);
    }),
  );
program
  .command("add <session> <text...>")
  .description("write an entry at the end")
  .action((session: string, words: readonly string[]) =>
    withLink(async (link) => {
      const notebook = await editorOf(link, session);
      const { id } = await notebook.add({ text: words.join(" ") });
      print(`entry ${id}`);
    }),
  );
program
  .command("edit <session> <id> <text...>")
  .description("put another text in an entry's place")
  .action((session: string, id: string, words: readonly string[]) =>
    withLink(async (link) => {
      const notebook = await editorOf(link, session);
      await notebook.edit({ id: Number(id), text: words.join(" ") });
    }),
  );
program
  .command("remove <session> <id>")
  .description("take an entry out")
  .action((session: string, id: string) =>
    withLink(async (link) => {
      const notebook = await editorOf(link, session);
      await notebook.remove({ id: Number(id) });
    }),
  );
program
  .command("watch <session>")
  .description("show what is written, again at each change, until it is stopped")
  .action((session: string) =>
    withLink(async (link) => {
      const notebook = link.hold(Notebook, { session });
      // A loop over a value ends when its reference is released.
      const stop = (): void => void notebook.$release();
      process.once("SIGINT", stop);
      process.once("SIGTERM", stop);
      for await (const list of notebook.entries) {
        print(`${session}, as ${notebook.variant ?? "nobody yet"}:`);
        for (const line of entryLines(list)) print(line);
      }
    }, showEachLine),
  );

await program.parseAsync();
