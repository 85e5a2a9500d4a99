/** Breakages of calls: their lanes, tries, outcomes, gate and sign-in. */
import type { Breakage } from "./breakage.ts";
import { all, crowd, incident, nobodies, ops, overloads, rate } from "./worlds.ts";

export const lanes: readonly Breakage[] = [
  {
    name: "a watermark is of the caller and not of its lane",
    file: "server/store/lane-names.ts",
    from: "      this.#name = `${lane} ${space}`;",
    to: "      this.#name = space;",
  },
  {
    name: "a lane is settled over its holes",
    file: "runtime/call/lane.ts",
    from: "    while (this.#ahead.delete(this.#settled + 1)) this.#settled += 1;",
    to: "    this.#settled = Math.max(this.#settled, seq);",
    where: all(rate("requestLost", 0.05), ops(10, "append", "whisper", "pay")),
  },
  {
    name: "a lane is settled one too far",
    file: "runtime/call/lane.ts",
    from: "    return this.#settled;",
    to: "    return this.#settled + 1;",
  },
  {
    name: "a lane's number is taken twice",
    file: "runtime/call/stamp.ts",
    from: "    this.#seq ??= this.#options.lane.next();\n    return this.#seq;",
    to: "    this.#seq ??= Math.max(1, this.#options.lane.next() - 1);\n    return this.#seq;",
  },
];

export const client: readonly Breakage[] = [
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
    where: all(ops(3, "shout"), rate("foreign", 0.05)),
  },
  {
    name: "what may have run is told as not run after a cut",
    file: "runtime/call/call.ts",
    from: "      this.#mayHaveRun ||= end.fault.sent;\n",
    to: "",
  },
  {
    name: "what may have run is told as not run after a server's fault",
    file: "runtime/call/call.ts",
    from: "    this.#mayHaveRun ||= end.mayHaveRun;\n",
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
    from: "    this.#tries += 1;\n",
    to: "    this.#tries += 1;\n    if (this.#tries === 3) return { ...this.fields(anonymous, tag), callId: `${this.callId.slice(0, 20)}03` };\n",
  },
  {
    name: "a budget is twice as long",
    file: "runtime/call/call.ts",
    from: "clock.timer(this.#budgetMs - this.#goneMs, () =>",
    to: "clock.timer(this.#budgetMs * 2, () =>",
  },
  {
    name: "a call on trial that ends without news keeps the gate",
    file: "runtime/call/gate.ts",
    from: '    this.#onTrial = false;\n    if (end === "nothing") this.#release();',
    to: '    if (end === "nothing") this.#release();',
    where: all(rate("foreign"), ops(8, "append", "read", "poke", "whisper")),
  },
  {
    name: "a gate leaks who waits",
    file: "runtime/call/gate.ts",
    from: "    if (this.#queue.size > 0 && !onTrial) {",
    to: "    if (this.#queue.size > 1_000 && !onTrial) {",
    where: crowd,
  },
  {
    name: "a gate that has found nothing does not look again",
    file: "runtime/call/gate-state.ts",
    from: '      return event === "nothing" ? closed(state.failures + 1, state.lastAt, waits, now) : state;',
    to: "      return state;",
    where: incident("crash", "block"),
  },
  {
    name: "a closed gate keeps its timer",
    file: "runtime/call/gate.ts",
    from: "    this.#closed = true;\n    this.#timer?.cancel();",
    to: "    this.#closed = true;",
    where: all(incident("leave"), incident("crash", "block", "pauseServer", "close")),
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
    where: incident("person"),
  },
  {
    name: "who is refused a call becomes its caller",
    file: "runtime/call/stamp.ts",
    from: "    this.#tag ??= tag ?? undefined;",
    to: "    this.#tag = tag ?? this.#tag;",
    where: incident("person"),
  },
  {
    name: "a refused token is not asked for anew",
    file: "runtime/call/sign-in.ts",
    from: "    this.#known = undefined;\n    return this.#ask(rejected, signal);",
    to: "    return this.#ask(rejected, signal);",
  },
  {
    name: "a link that is up says so again and again",
    file: "runtime/link/link.ts",
    from: 'if (before.kind === "up" && event.kind === "answered") return;',
    to: 'if (before.kind === "up" && event.kind === "answered") this.#state.set({ ...before });',
  },
  {
    name: "two links share an anonymous secret",
    file: "runtime/link/link-environment.ts",
    from: "    this.anonymous = newId(this.random);",
    to: '    this.anonymous = "a".repeat(22);\n    this.lane satisfies object;',
    where: all(nobodies, ops(3, "pay", "shout")),
  },
  {
    name: "repeats take nothing from their budget",
    file: "runtime/call/call.ts",
    from: "    return Math.max(hintMs, ownMs, this.#env.takeRetryToken(this.#deadline.leftMs()));",
    to: "    return Math.max(hintMs, ownMs);",
    where: overloads,
  },
  {
    name: "a gate's waits do not grow",
    file: "runtime/link/link-environment.ts",
    from: "      waitMs: (failures) => backoffMs(failures, Math.min(firstWaitMs, mostMs), mostMs, this.random),",
    to: "      waitMs: () => Math.min(firstWaitMs, mostMs),",
    where: incident("crash", "close"),
  },
];
