/** The notebook's act by itself: `npm run notebook:demo`. The board's demo plays it as its last one. */
import { playDrop } from "./act.ts";

const startedAt = performance.now();
const ok = await playDrop((who, text) => {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(2).padStart(6);
  process.stdout.write(`${seconds} s  ${who.padEnd(8)} ${text}\n`);
});
process.stdout.write(ok ? "notebook: ok, bob sees what ada wrote\n" : "notebook: failed, see above\n");
process.exitCode = ok ? 0 : 1;
