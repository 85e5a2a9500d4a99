/**
 * A client that makes commands until it is told to stop (its standard input ends), several at once, and notes in
 * a file of its own what became of each: `began KEY` before it is sent, then `KEY OUTCOME DETAIL`. Of its outbox it
 * notes `stored CALL` for each command that is in it, and `settled CALL OUTCOME` for each that leaves without a
 * call that waits for it.
 *
 * Arguments: the server's URL, the file of notes, a name that no other client has, how many at once (0: only empties
 * its outbox, and ends), the folder of outboxes, and the account, which a later client may take over.
 */
import { appendFileSync } from "node:fs";
import { ConnectError } from "@connectrpc/connect";
import { HoldfastError, linkOf } from "../../runtime/node/index.ts";
import { Ledger, ledgerClient } from "./gen/test/crash/v1/ledger_holdfast.ts";
import { logbookClient } from "./gen/test/crash/v1/logbook_holdfast.ts";

const [, , url = "", notes = "", name = "", atOnce = "8", folder = "", account = ""] = process.argv;
const timing = { tryWaitMs: 5_000, connectWaitMs: 2_000, firstWaitMs: 10, waitMsMost: 50, budgetMs: 60_000 };
const link = linkOf(url, { timing });
const ledger = ledgerClient(link);
const logbook = logbookClient(link);
// Of its own: while a command waits in an outbox, those of its link that come later wait too.
const storing = linkOf(url, { timing, account, outbox: { folder, atStart: false } });

/** After such an end. A link that has not reached its server yet says so at once, and an outbox takes what it is given. */
const pausesMs: Readonly<Record<string, number>> = { "not-run": 100, "in-outbox": 500 };

let stopped = false;
process.stdin.resume().on("end", () => (stopped = true));

const note = (line: string): void => appendFileSync(notes, `${line}\n`);

/** What a client makes in turn; each gives what is told of it. */
const acts: Readonly<Record<string, (key: string) => Promise<string>>> = {
  refuse: async (key) => String((await ledger.put({ key, refuse: true })).row),
  pay: async (key) => (await ledger.pay({ key }), ""),
  send: async (key) => (await ledger.send({ key }), ""),
  put: async (key) => String((await ledger.put({ key })).row),
  deny: async (key) => String((await logbook.write({ key, refuse: true })).place),
  write: async (key) => String((await logbook.write({ key })).place),
};

/** Often, and not always, too short for a server that has to be started. */
const storedBudgetMs = 1_000;

async function store(outbox: "early" | "late", key: string): Promise<string> {
  const method = { ...Ledger.put, outbox };
  return String((await storing.call(method, { key }, { timeoutMs: storedBudgetMs })).row);
}

const storedActs: typeof acts = {
  early: (key) => store("early", key),
  late: (key) => store("late", key),
};

async function work(lane: number, laneCount: number, kinds: typeof acts): Promise<void> {
  const all = Object.entries(kinds);
  for (let number = lane; !stopped; number += laneCount) {
    const [kind, act] = all[number % all.length] ?? [];
    if (kind === undefined || act === undefined) throw new TypeError("a number has a kind");
    const key = `${kind}:${name}:${number}`;
    note(`began ${key}`);
    try {
      note(`${key} ran ${await act(key)}`);
    } catch (error) {
      const known = error instanceof HoldfastError ? error : undefined;
      const text = ConnectError.from(error).rawMessage.replaceAll("\n", " ");
      note(`${key} ${known?.outcome ?? "none"} ${known?.callId ?? "-"} ${text}`);
      const delayMs = pausesMs[known?.outcome ?? ""];
      if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

function noteOutbox(): void {
  const seen = new Set<string>();
  storing.outbox.entries.subscribe((entries) => {
    for (const { callId } of entries) {
      if (!seen.has(callId)) note(`stored ${callId}`);
      seen.add(callId);
    }
  });
  storing.outbox.onSettled((end) =>
    note(`settled ${end.callId} ${end.kind === "reply" ? "ran" : end.outcome}`),
  );
}

noteOutbox();
const laneCount = Number(atOnce);
const lanes = (count: number, kinds: typeof acts): Promise<void>[] =>
  Array.from({ length: count }, (_, lane) => work(lane, count, kinds));
if (laneCount === 0) {
  const { waitingCount, cause } = await storing.outbox.send();
  if (waitingCount > 0) throw new Error(`${waitingCount} commands still wait`, { cause });
} else await Promise.all([...lanes(laneCount, acts), ...lanes(3, storedActs)]);
await Promise.all([link.close(), storing.close()]);
