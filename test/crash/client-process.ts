/**
 * A client that makes commands until it is told to stop (its standard input ends), several at once, and notes in
 * a file of its own what became of each: `began KEY` before it is sent, then `KEY OUTCOME DETAIL`.
 *
 * Arguments: the server's URL, the file of notes, a name that no other client has, and how many at once.
 */
import { appendFileSync } from "node:fs";
import { ConnectError } from "@connectrpc/connect";
import { HoldfastError, linkOf } from "../../runtime/node/index.ts";
import { ledgerClient } from "./gen/test/crash/v1/ledger_holdfast.ts";

const [, , url = "", notes = "", name = "", atOnce = "8"] = process.argv;
const timing = { tryWaitMs: 5_000, connectWaitMs: 2_000, firstWaitMs: 10, waitMsMost: 50 };
const link = linkOf(url, { timing: { ...timing, budgetMs: 60_000 } });
const client = ledgerClient(link);

/** A link that has not reached its server yet says so at once, again and again. */
const pauseMs = 100;

let stopped = false;
process.stdin.resume().on("end", () => (stopped = true));

const note = (line: string): void => appendFileSync(notes, `${line}\n`);

/** Makes one command; gives what is told of it. */
async function act(key: string, number: number): Promise<string> {
  switch (number % 4) {
    case 0:
      return String((await client.put({ key, refuse: true })).row);
    case 1:
      await client.pay({ key });
      return "";
    case 2:
      await client.send({ key });
      return "";
    default:
      return String((await client.put({ key })).row);
  }
}

const kinds = ["refuse", "pay", "send", "put"];

async function work(lane: number): Promise<void> {
  for (let number = lane; !stopped; number += Number(atOnce)) {
    const key = `${kinds[number % 4] ?? ""}:${name}:${number}`;
    note(`began ${key}`);
    try {
      note(`${key} ran ${await act(key, number)}`);
    } catch (error) {
      const outcome = error instanceof HoldfastError ? (error.outcome ?? "none") : "none";
      note(`${key} ${outcome} ${ConnectError.from(error).rawMessage.replaceAll("\n", " ")}`);
      if (outcome === "not-run") await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, (_, lane) => work(lane)));
await link.close();
