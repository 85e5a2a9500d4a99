// Kills servers and clients under load: `npm run crash -- [--kills N] [--seed S] [--json FILE]`.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { crash } from "./crash-run.ts";
import { complaints } from "./programs.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (!Number.isSafeInteger(kills) || kills < 1) throw new RangeError("--kills must be at least 1");
if (!Number.isSafeInteger(seed)) throw new RangeError("--seed must be a whole number");

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const result = await crash({
  kills,
  seed,
  clients: 4,
  atOnce: 16,
  onKill: (count) => {
    if (count % 50 === 0) say(`${count} kills`);
  },
});
const { faults, counts, clientKills, storedCount } = result;
const ok = faults.length === 0;
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ ok, seed, ...result }, null, 2)}\n`);
if (!ok) for (const line of [...faults.slice(0, 20), ...complaints.slice(-20)]) say(line);
const told =
  `${counts.ran} ran, ${counts.refused} refused, ${counts.unknown} unknown, ${counts.open} never answered, ` +
  `${counts["in-outbox"]} told to wait, ${storedCount} stored in an outbox`;
const figures = `${kills} kills of the server and ${clientKills} of clients, seed ${seed}: ${told}`;
say(`crash: ${ok ? "ok" : "failed"} ${ok ? "" : `${faults.length} broken promises, `}${figures}`);
process.exitCode = ok ? 0 : 1;
