/** Breakages of the journal and of what it keeps. */
import type { Breakage } from "./breakage.ts";
import { all, durable, failingDisk, incident, memory, ops, rate, slowDisk, slowReads } from "./worlds.ts";

export const journal: readonly Breakage[] = [
  {
    name: "a refusal is not kept",
    file: "server/journal/keeping.ts",
    from: "        return this.#keepNow(run, ending);",
    to: '        if (ending.outcome.kind === "refused") return told(definition, ending);\n        return this.#keepNow(run, ending);',
  },
  {
    name: "a reply goes out before its commit",
    file: "server/journal/keeping.ts",
    from: "    if (atOnce === undefined) return store.commit(run.claim(), () => ending.outcome).then(committed, failed);",
    to: "    store.commit(run.claim(), () => ending.outcome).catch(() => undefined);\n    if (atOnce === undefined) return told(run.attempt.definition, ending);",
    where: all(slowDisk, durable, ops(3, "pay"), incident("crash")),
  },
  {
    name: "a failed commit is told as run",
    file: "server/journal/keeping.ts",
    from: "      writeFailed(error);\n      return unavailable;",
    to: "      writeFailed(error);\n      return told(run.attempt.definition, ending);",
    where: all(failingDisk, ops(2, "pay")),
  },
  {
    name: "a handler begins before its claim is durable",
    file: "server/journal/run-effects.ts",
    from: '    return this.#commit(\n      () => ({ kind: "started" }),\n      () => ({ kind: "started" }),\n    );',
    to: '    this.#commit(\n      () => ({ kind: "started" }),\n      () => ({ kind: "started" }),\n    ).catch(() => undefined);\n    return undefined;',
    where: all(slowDisk, ops(3, "pay"), incident("crash")),
  },
  {
    name: "a running call is not joined",
    file: "server/journal/runs.ts",
    from: "    this.#runs.set(key, run);",
    to: "    this.#runs.set(`${key} ${this.#runs.size}`, run);",
  },
  {
    name: "two tries of a key look at the store at once",
    file: "server/journal/journal.ts",
    from: "    if (look !== undefined) return look.then(() => this.#arrive(arrival));",
    to: '    if (look !== undefined && arrival.key === "") return look.then(() => this.#arrive(arrival));',
    where: all(slowReads, ops(3, "pay"), rate("twin", 0.1)),
  },
  {
    name: "a run ends in memory before it is kept",
    file: "server/journal/runs.ts",
    from: "ending.then((its) => starting.keep(its))",
    to: "ending.then((its) => (this.#runs.delete(key), starting.keep(its)))",
    where: all(slowDisk, ops(3, "pay"), rate("twin")),
  },
  {
    name: "what clients say is settled while calls run is not heard",
    file: "server/journal/journal.ts",
    from: "Math.max(found.watermark, told)",
    to: "found.watermark",
    where: all(rate("requestLate", 0.06), ops(8, "append", "whisper")),
  },
  {
    name: "an unknown run is always run again",
    file: "server/journal/once-call.ts",
    from: "    return this.attempt.rerun === true;",
    to: "    return true;",
  },
  {
    name: "an unknown run counts as run",
    file: "server/journal/entry.ts",
    from: '      return { kind: "refuse", reason: "OUTCOME_UNKNOWN" };',
    to: '      return { kind: "run" };',
    where: all(ops(2, "pay"), incident("crash"), durable),
  },
  {
    name: "effects elsewhere have no claim",
    file: "server/journal/run-effects.ts",
    from: '    if (this.#parts.definition.effects !== "external" || this.#standing.kind !== "free") return undefined;\n    return this.#commit',
    to: '    if (this.#parts.definition.effects !== "none") return undefined;\n    return this.#commit',
    where: all(ops(2, "pay"), incident("crash")),
  },
  {
    name: "a failed run with effects elsewhere is free again",
    file: "server/journal/keeping.ts",
    from: '    if (effects.standing.kind === "started" && attempt.rerun !== true) {',
    to: '    if (effects.standing.kind === "started") await effects.release();\n    if (effects.standing.kind === "started" && attempt.rerun !== true) {',
    where: all(ops(2, "pay"), ({ handlerFailRate }) => handlerFailRate > 0),
  },
  {
    name: "a copy of what is sent at most once runs",
    file: "server/journal/tombstones.ts",
    from: "    if (this.#ends.has(key)) return false;",
    to: "",
  },
  {
    name: "a copy of a settled call runs",
    file: "server/journal/entry.ts",
    from: "      if (facts.seq !== undefined && facts.seq <= state.watermark) {",
    to: "      if (facts.seq !== undefined && facts.seq < state.watermark) {",
  },
  {
    name: "the signal of a command's handler is its try's",
    file: "server/context.ts",
    from: "    super(guest, parts, carried, run);",
    to: "    super(guest, parts, carried, carried);",
  },
  {
    name: "a handler's fault is kept as a refusal",
    file: "server/journal/outcome.ts",
    from: "  if (!isHandlerRefusal(thrown) && thrown !== rolledBack) {",
    to: "  if (asksForNewTry(thrown) && thrown !== rolledBack) {",
  },
  {
    name: "a sign-in's end is told as a refusal of the journal",
    file: "server/http/routes.ts",
    from: "  if (exchange.stop !== undefined) return markOfError(exchange.stop);",
    to: '  if (exchange.stop !== undefined) return "refused";',
  },
];

export const fences: readonly Breakage[] = [
  {
    name: "an empty store has no fence",
    file: "server/store/memory-fences.ts",
    from: "  let floorMs = startMs;",
    to: "  let floorMs = Math.min(0, startMs);",
    where: all(memory, incident("crash")),
  },
  {
    name: "the fence is off by the time of keeping",
    file: "server/journal/entry.ts",
    from: "  if (firstSentMs < state.forgottenBeforeMs) {",
    to: "  if (firstSentMs < state.forgottenBeforeMs - state.keepMs) {",
    where: all(memory, incident("crash")),
  },
  {
    name: "a call that goes early raises no fence",
    file: "server/store/memory-store.ts",
    from: "      if (entry?.firstSentMs !== undefined) this.#fences.raise(entry.space, entry.firstSentMs);\n",
    to: "",
    where: all(memory, ({ callsPerCallerMost }) => callsPerCallerMost !== undefined, rate("twin")),
  },
  {
    name: "each try says anew when its call was first sent",
    file: "runtime/call/stamp.ts",
    from: "    const firstSent = this.#first === undefined ? { agoMs: 0 } : this.#firstSent(this.#first, fresh);",
    to: "    this.#firstServerMs = undefined;\n    this.#first = undefined;\n    this.sending(tag);\n    const firstSent = this.#first === undefined ? { agoMs: 0 } : this.#firstSent(this.#first, true);",
  },
  {
    name: "the time that a machine slept does not count",
    file: "runtime/call/stamp.ts",
    from: "    if (wallAgoMs >= agoMs - ticketMarginMs) return Math.max(agoMs, wallAgoMs);",
    to: "    if (wallAgoMs >= agoMs - ticketMarginMs) return agoMs;",
  },
  {
    name: "a machine whose clock was set back has not slept",
    file: "runtime/call/stamp.ts",
    from: "    this.#first = { ...first, wallMs: unknownMs };\n    return clock.now() - unknownMs;",
    to: "    return agoMs;",
    where: all(memory, incident("sleep"), incident("jumpClient")),
  },
  {
    name: "a repeat may tell its age alone",
    file: "server/journal/entry.ts",
    from: '      if (facts.aged === true) return { kind: "ask" };\n',
    to: "",
    where: all(memory, incident("pauseServer")),
  },
  {
    name: "a call that may have left counts as not sent",
    file: "runtime/call/call.ts",
    from: '    if (this.#mayHaveRun || (this.#progress !== "waiting" && !stopped)) return;',
    to: "    stopped satisfies boolean;",
  },
  {
    name: "what an outbox has sent it does not write down first",
    file: "runtime/outbox/record.ts",
    from: "    try {\n      await this.#write();\n    } catch (cause) {",
    to: "    try {\n      await Promise.resolve();\n    } catch (cause) {",
  },
];
