/**
 * A client in a process of its own, for tests that kill it. Arguments: the server's URL, the outbox's folder, and
 * what to do. It prints one line for each thing that a test waits for.
 */
import { linkOf } from "../../runtime/node/index.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";

const [url = "", folder = "", what = "", amount = "1"] = process.argv.slice(2);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const link = linkOf(url, { outbox: { folder, atStart: what === "send" } });
link.outbox.onSettled(({ callId, kind }) => say(`settled ${callId} ${kind}`));
link.outbox.entries.subscribe((entries) => {
  for (const { callId } of entries) say(`stored ${callId}`);
});

async function call(outbox: "late" | "early", timeoutMs: number): Promise<void> {
  try {
    const { total } = await link.call({ ...Tally.add, outbox }, { amount: BigInt(amount) }, { timeoutMs });
    say(`reply ${total}`);
  } catch (error) {
    say(
      error instanceof HoldfastError ? `failed ${error.reason ?? ""} ${error.callId ?? ""}` : String(error),
    );
  }
}

/** Makes a few calls ahead of those that are stored, so that a kill always comes while some are being written. */
async function burst(count: number): Promise<void> {
  const calls: Promise<void>[] = [];
  const makeAhead = (storedCount: number): void => {
    while (calls.length < Math.min(count, storedCount + 4)) calls.push(call("early", 60_000));
  };
  link.outbox.entries.subscribe((entries) => makeAhead(entries.length));
  makeAhead(0);
  await new Promise<void>((resolve) =>
    link.outbox.entries.subscribe((all) => all.length === count && resolve()),
  );
  await Promise.all(calls);
}

switch (what) {
  case "early":
  case "late":
    await call(what, 60_000);
    break;
  case "burst":
    await burst(Number(amount));
    break;
  case "send": {
    const { waitingCount } = await link.outbox.send();
    say(`waiting ${waitingCount}`);
    break;
  }
}
await link.close();
