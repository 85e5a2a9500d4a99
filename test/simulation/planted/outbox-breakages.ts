/** Breakages of the outbox. */
import type { Breakage } from "./breakage.ts";
import { aborting, all, failingFolder, incident, merging, sharedFolder, late } from "./worlds.ts";

export const outbox: readonly Breakage[] = [
  {
    name: "an entry leaves at any fault",
    file: "runtime/outbox/fate.ts",
    from: '  return mark === "none" ? "leaves" : "waits";',
    to: '  return mark === "none" || told ? "leaves" : "leaves";',
  },
  {
    name: "an entry that was sent elsewhere is told as not run",
    file: "runtime/outbox/seat.ts",
    from: '    if (error.outcome !== "not-run" || !(await this.#record.goesElsewhere())) return error;',
    to: "    if (error.tries < 1_000) return error;",
    where: all(sharedFolder, aborting),
  },
  {
    name: "an entry that cannot be removed is told as not run",
    file: "runtime/outbox/departures.ts",
    from: '      if (call === undefined || (ending.kind === "failure" && ending.outcome === "not-run")) throw error;',
    to: "      if (call === undefined) throw error;",
    where: all(failingFolder, aborting),
  },
  {
    name: "the lock is not given back",
    file: "runtime/outbox/sender.ts",
    from: "      await lease.release();\n",
    to: "",
  },
  {
    name: "an entry is sent under another call ID",
    file: "runtime/outbox/entrance.ts",
    from: "      stamp: stamp.memory(),\n",
    to: "      stamp: { ...stamp.memory(), callId: newId(env.random) },\n",
  },
  {
    name: "an entry that has left comes back",
    file: "runtime/outbox/record.ts",
    from: "    if (this.present) await this.#shelf.put(this.#entry);",
    to: "    await this.#shelf.put(this.#entry);",
    where: sharedFolder,
  },
  {
    name: "EARLY is stored as late as LATE",
    file: "runtime/outbox/entrance.ts",
    from: '    return mode === "late" ? this.#behind(call, stamp) : this.#inAtOnce(call, stamp);',
    to: "    return this.#behind(call, stamp);",
    where: incident("kill"),
  },
  {
    name: "nobody hears of what another process has sent",
    file: "runtime/outbox/departures.ts",
    from: "      this.#tell(stamp.callId, method, ending ?? failure(withoutNote(stamp.callId)), false);\n",
    to: "      ending satisfies object | undefined;\n",
    where: sharedFolder,
  },
  {
    name: "a sender that was stopped does not go on",
    file: "runtime/outbox/sender.ts",
    from: "    this.#timer = env.clock.timer(waitMs, () => void this.wake(), { background: true });\n",
    to: "    waitMs satisfies number;\n",
    where: incident("crash", "block"),
  },
  {
    name: "a merged command takes any that waits",
    file: "runtime/outbox/entrance.ts",
    from: "      if (entry?.request.every((byte, at) => byte === bytes[at]) === true) return entry;",
    to: "      if (entry !== undefined) return entry;",
    where: merging,
  },
  {
    name: "a LATE command that cannot be kept is told to wait",
    file: "runtime/outbox/entrance.ts",
    from: "      return false;\n    }\n    departures.made",
    to: "      return true;\n    }\n    departures.made",
    where: all(failingFolder, late, incident("block", "crash", "pauseServer")),
  },
  {
    name: "an entry's age is the wall clock's alone",
    file: "runtime/outbox/age.ts",
    from: "  if (madeAt !== undefined) return",
    to: "  if (madeAt === -1) return",
    where: all(late, incident("jumpClient")),
  },
  {
    name: "an entry goes in the name of whoever is signed in",
    file: "runtime/call/stamp.ts",
    from: "    if (this.ownerless) return nobodys;\n    if (this.#tag === undefined || this.#person === this.#signIn) return this.#tag;",
    to: "    if (this.#tag !== nobodys) return undefined;",
    where: all(late, incident("person")),
  },
];
