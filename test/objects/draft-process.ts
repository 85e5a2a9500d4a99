/**
 * A program that holds a draft, for tests that kill it. Arguments: the server's URL, the outbox's folder, and what to
 * do. It prints one line for each thing that a test waits for.
 */
import { linkOf } from "../../runtime/node/index.ts";
import { Draft } from "./gen/test/objects/v1/notebook_holdfast.ts";

const [url = "", folder = "", what = ""] = process.argv.slice(2);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const link = linkOf(url, { outbox: { folder, atStart: false } });
link.outbox.onSettled(({ callId, kind }) => say(`settled ${callId} ${kind}`));
link.outbox.entries.subscribe((entries) => {
  for (const { callId } of entries) say(`stored ${callId}`);
});
if (what === "send") {
  const { waitingCount } = await link.outbox.send();
  say(`waiting ${waitingCount}`);
} else {
  const draft = link.hold(Draft, { name: "Ännä" });
  const call = what === "early" ? draft.early : draft.late;
  // Behind it, so that it is lost with the process.
  const calls = [call.call(draft, { line: "x" }, { timeoutMs: 4_000 }), draft.plain({ line: "y" })];
  for (const each of calls) each.catch((error: unknown) => say(String(error)));
  await calls[0]?.catch(() => undefined);
  say("over");
  await new Promise(() => setInterval(() => undefined, 1_000));
}
await link.close();
