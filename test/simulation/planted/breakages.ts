/**
 * Breakages of the sources, each of which a simulation must find: a small change of text, as a person might make it
 * by mistake. They are applied to a copy; what ships has no switch for them.
 */
import type { Plan } from "../plan.ts";

export interface Breakage {
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Worlds that are looked at first, since they have what it is about. Default: none before the others. */
  readonly where?: (plan: Plan) => boolean;
}

const journal: readonly Breakage[] = [
  {
    name: "a refusal is not kept",
    file: "server/journal/keeping.ts",
    from: "        return this.#keepNow(run, ending);",
    to: '        if (ending.outcome.kind === "refused") return told(definition, ending);\n        return this.#keepNow(run, ending);',
  },
  {
    name: "a reply goes out before its commit",
    file: "server/journal/keeping.ts",
    from: "      const committed = await store.commit(run.claim(), () => ending.outcome);\n      return committed",
    to: '      store.commit(run.claim(), () => ending.outcome).catch(() => undefined);\n      const committed = { kind: "kept" as const };\n      return committed',
  },
  {
    name: "a failed commit is told as run",
    file: "server/journal/keeping.ts",
    from: '      case "failed":\n        return unavailable;',
    to: '      case "failed":\n        if (ending.kind === "settled") return told(definition, ending);\n        return unavailable;',
  },
  {
    name: "a running call is not joined",
    file: "server/journal/journal.ts",
    from: "    this.#runs.set(key, run);\n    const answer",
    to: "    this.#runs.set(`${key} ${this.#runs.size}`, run);\n    const answer",
  },
  {
    name: "two tries of a key look at the store at once",
    file: "server/journal/journal.ts",
    from: "      if (look === undefined) return this.#look(arrival);\n      await look;",
    to: "      return this.#look(arrival);\n      await look;",
  },
  {
    name: "a run ends in memory before it is kept",
    file: "server/journal/journal.ts",
    from: "    this.#handle(attempt, work, run, effects, mayHaveRun)\n      .then(how.keep)",
    to: "    this.#handle(attempt, work, run, effects, mayHaveRun)\n      .then((ending) => (this.#runs.delete(key), how.keep(ending)))",
  },
  {
    name: "what clients say is settled while calls run is not heard",
    file: "server/journal/journal.ts",
    from: "Math.max(found.watermark, told)",
    to: "found.watermark",
  },
  {
    name: "an unknown run is always run again",
    file: "server/journal/journal.ts",
    from: "rerun: attempt.rerun === true,",
    to: "rerun: true,",
  },
  {
    name: "an unknown run counts as run",
    file: "server/journal/entry.ts",
    from: '      return { kind: "refuse", reason: "OUTCOME_UNKNOWN" };',
    to: '      return { kind: "run" };',
  },
  {
    name: "effects elsewhere have no claim",
    file: "server/journal/run-effects.ts",
    from: '    if (this.#parts.definition.effects !== "external" || this.#standing.kind !== "free") return;',
    to: "    return;",
  },
  {
    name: "a failed run with effects elsewhere is free again",
    file: "server/journal/keeping.ts",
    from: '    if (effects.standing.kind === "started" && attempt.rerun !== true) {',
    to: '    if (effects.standing.kind === "started") await effects.release();\n    if (effects.standing.kind === "started" && attempt.rerun !== true) {',
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
    file: "server/dispatch.ts",
    from: "    const context = createContext(contextParts(guest, parts), carried, run);\n    parts.signs",
    to: "    const context = createContext(contextParts(guest, parts), carried, carried);\n    parts.signs",
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

const fences: readonly Breakage[] = [
  {
    name: "an empty store has no fence",
    file: "server/store/memory-fences.ts",
    from: "  let floorMs = startMs;",
    to: "  let floorMs = Math.min(0, startMs);",
  },
  {
    name: "the fence is off by the time of keeping",
    file: "server/journal/entry.ts",
    from: "  if (firstSentMs < state.forgottenBeforeMs) {",
    to: "  if (firstSentMs < state.forgottenBeforeMs - state.keepMs) {",
  },
  {
    name: "a call that goes early raises no fence",
    file: "server/store/memory-store.ts",
    from: "      if (entry?.firstSentMs !== undefined) this.#fences.raise(entry.space, entry.firstSentMs);\n",
    to: "",
  },
  {
    name: "each try says anew when its call was first sent",
    file: "runtime/call/stamp.ts",
    from: "    const at = this.#first?.at ?? now;",
    to: "    const at = now;\n    this.#firstServerMs = undefined;",
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

const lanes: readonly Breakage[] = [
  {
    name: "a watermark is of the caller and not of its lane",
    file: "server/store/memory-lanes.ts",
    from: "  const name = (space: string, lane: string): string => `${lane} ${space}`;",
    to: "  const name = (space: string, _lane: string): string => space;",
  },
  {
    name: "a lane is settled over its holes",
    file: "runtime/call/lane.ts",
    from: "    while (this.#ahead.delete(this.#settled + 1)) this.#settled += 1;",
    to: "    this.#settled = Math.max(this.#settled, seq);",
  },
  {
    name: "a lane's number is taken twice",
    file: "runtime/call/stamp.ts",
    from: "    this.#seq ??= this.#options.lane.next();\n    return this.#seq;",
    to: "    this.#seq ??= Math.max(1, this.#options.lane.next() - 1);\n    return this.#seq;",
  },
];

const client: readonly Breakage[] = [
  {
    name: "a foreign answer settles",
    file: "runtime/call/outcome.ts",
    from: '    if (facts.seen) return { kind: "connection-fault", fault: notOurs(error) };',
    to: '    if (facts.seen) return { kind: "refusal", error, mark: "refused" };',
  },
  {
    name: "a foreign success is a reply",
    file: "runtime/call/outcome.ts",
    from: '  if (facts.once) return { kind: "not-holdfast", error: undefined };',
    to: '  if (facts.once) return { kind: "reply", response };',
  },
  {
    name: "an unmarked answer settles what is sent at most once",
    file: "runtime/call/call.ts",
    from: "    return { once: this.#stamp !== undefined, server,",
    to: "    return { once: this.#once, server,",
  },
  {
    name: "what may have run is told as not run after a cut",
    file: "runtime/call/call.ts",
    from: "        this.#mayHaveRun ||= end.fault.sent;",
    to: "",
  },
  {
    name: "what may have run is told as not run after a server's fault",
    file: "runtime/call/call.ts",
    from: "        this.#mayHaveRun ||= end.mayHaveRun;",
    to: "",
  },
  {
    name: "a stop after such a try is told as not run",
    file: "runtime/call/retry.ts",
    from: '  return facts.mayHaveRun ? "unknown" : "not-run";',
    to: '  return "not-run";',
  },
  {
    name: "a try that the budget cuts does not count",
    file: "runtime/call/call.ts",
    from: "        if (hasLeft(connection.http())) this.#mayHaveRun = true;",
    to: "        if (hasLeft(connection.http())) this.#mayHaveRun ||= false;",
  },
  {
    name: "what is sent at most once is sent again after a cut",
    file: "runtime/call/retry.ts",
    from: '      if (facts.delivery === "atMostOnce" && end.fault.sent) return over("unknown", "NO_REPLY");\n',
    to: "",
  },
  {
    name: "each try has an ID of its own",
    file: "runtime/call/stamp.ts",
    from: "    this.#tries = tries;\n",
    to: "    this.#tries = tries;\n    if (tries > 2) return { ...this.fields(1, anonymous, tag), callId: `${this.callId.slice(0, 20)}0${tries % 10}` };\n",
  },
  {
    name: "a budget is twice as long",
    file: "runtime/call/call.ts",
    from: "clock.timer(this.#budgetMs, () =>",
    to: "clock.timer(this.#budgetMs * 2, () =>",
  },
  {
    name: "a gate on trial forgets who leaves it",
    file: "runtime/call/gate.ts",
    from: '      if (!this.#queue.delete(go)) this.report("nothing");\n',
    to: "      this.#queue.delete(go);\n",
  },
  {
    name: "a gate leaks who waits",
    file: "runtime/call/gate.ts",
    from: "    if (this.#queue.size > 0 && !onTrial) {",
    to: "    if (this.#queue.size > 1_000 && !onTrial) {",
  },
  {
    name: "a gate that has found nothing does not look again",
    file: "runtime/call/gate-state.ts",
    from: '      return event === "nothing" ? closed(state.failures + 1, state.lastAt, waits, now) : state;',
    to: "      return state;",
  },
  {
    name: "a closed gate keeps its timer",
    file: "runtime/call/gate.ts",
    from: "    this.#closed = true;\n    this.#timer?.cancel();",
    to: "    this.#closed = true;",
  },
  {
    name: "a token source is asked by many at once",
    file: "runtime/call/sign-in.ts",
    from: "    this.#asking ??= this.#askOnce(rejected, person);",
    to: "    this.#asking = this.#askOnce(rejected, person);",
  },
  {
    name: "a call without a caller goes on under another sign-in",
    file: "runtime/call/call.ts",
    from: "if (this.#mayHaveRun && this.#stamp?.ownerless === true)",
    to: "if (this.#tries > 1_000)",
  },
  {
    name: "who is refused a call becomes its caller",
    file: "runtime/call/stamp.ts",
    from: "    this.#tag ??= tag ?? undefined;",
    to: "    this.#tag = tag ?? this.#tag;",
  },
  {
    name: "a refused token is not asked for anew",
    file: "runtime/call/sign-in.ts",
    from: "    this.#known = undefined;\n    return this.#ask(rejected, signal);",
    to: "    return this.#ask(rejected, signal);",
  },
  {
    name: "a link that is up says so again and again",
    file: "runtime/link/link-state.ts",
    from: '      if (state.kind === "up") return state;',
    to: '      if (state.kind === "up") return { kind: "up", since: now };',
  },
  {
    name: "two links share an anonymous secret",
    file: "runtime/link/link-environment.ts",
    from: "    this.anonymous = newId(this.random);",
    to: '    this.anonymous = "a".repeat(22);\n    this.lane satisfies object;',
  },
];

const outbox: readonly Breakage[] = [
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
  },
  {
    name: "an entry that cannot be removed is told as not run",
    file: "runtime/outbox/departures.ts",
    from: '      if (!live || (ending.kind === "failure" && ending.outcome === "not-run")) throw error;',
    to: "      if (!live) throw error;",
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
  },
  {
    name: "EARLY is stored as late as LATE",
    file: "runtime/outbox/entrance.ts",
    from: '    return mode === "late" ? this.#behind(call, stamp) : this.#inAtOnce(call, stamp);',
    to: "    return this.#behind(call, stamp);",
  },
  {
    name: "nobody hears of what another process has sent",
    file: "runtime/outbox/departures.ts",
    from: "      this.#tell(stamp.callId, method, ending ?? failure(withoutNote(stamp.callId)), false);\n",
    to: "      ending satisfies object | undefined;\n",
  },
  {
    name: "a sender that was stopped does not go on",
    file: "runtime/outbox/sender.ts",
    from: "    this.#timer = env.clock.timer(waitMs, () => void this.wake(), { background: true });\n",
    to: "    waitMs satisfies number;\n",
  },
  {
    name: "a merged command takes any that waits",
    file: "runtime/outbox/entrance.ts",
    from: "      if (each.mergeKey !== mergeKey || each.requestBytes !== bytes.byteLength) continue;",
    to: "      if (each.requestBytes < 1) continue;",
  },
  {
    name: "a LATE command that cannot be kept is told to wait",
    file: "runtime/outbox/entrance.ts",
    from: "      return false;\n    }\n    departures.made",
    to: "      return true;\n    }\n    departures.made",
  },
];

export const breakages: readonly Breakage[] = [...journal, ...fences, ...lanes, ...client, ...outbox];
