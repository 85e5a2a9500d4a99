/** Puts, replaces and drops entries of an outbox in files, and says what is settled. */
import { writeSync } from "node:fs";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { fileOutbox } from "../../runtime/node/file-outbox.ts";
import { bytesOf, optionsOf, steps } from "./outbox-steps.ts";
import { tellMark } from "./trace.ts";

const outbox = fileOutbox({ ...optionsOf(process.argv[2] ?? ""), random: seededRandom("outbox") });
for (const [number, { name, version }] of steps.entries()) {
  if (version === undefined) await outbox.drop(name);
  else await outbox.put(name, bytesOf(name, version));
  writeSync(1, `${tellMark}${number}\n`);
}
