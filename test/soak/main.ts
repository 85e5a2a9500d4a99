// Streams over faulty proxies: `npm run soak -- [--items N] [--seed S] [--json FILE]`.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { soak } from "./soak-run.ts";

const { values } = parseArgs({
  options: {
    items: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    json: { type: "string" },
  },
});
const [itemCount, seed] = [Number(values.items), Number(values.seed)];
if (!Number.isSafeInteger(itemCount) || itemCount < 1) throw new RangeError("--items must be at least 1");
if (!Number.isSafeInteger(seed)) throw new RangeError("--seed must be a whole number");

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const result = await soak({ itemCount, seed, onProgress: say });
const { broken, gotCount, lostCount, faultCounts, connectionCount, seconds } = result;
const ok = broken.length === 0;
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ok, ...result }, null, 2)}\n`);
for (const line of broken.slice(0, 20)) say(line);
const faultCount = Object.values(faultCounts).reduce((total, count) => total + count, 0);
const figures =
  `${itemCount} items to 10 readers, ${gotCount} got, ${lostCount} told as lost, ` +
  `${faultCount} faults, ${connectionCount} connections, ${seconds} s, seed ${seed}`;
say(`soak: ${ok ? "ok" : "failed"} ${ok ? "" : `${broken.length} broken promises, `}${figures}`);
process.exitCode = ok ? 0 : 1;
