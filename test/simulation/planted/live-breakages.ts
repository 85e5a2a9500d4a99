/** Breakages of streams and topics. */
import type { Breakage } from "./breakage.ts";
import { all, busyList, incident, ops, rush, slowReaders, standstill } from "./worlds.ts";

const followed = ops(2, "follow");

export const streams: readonly Breakage[] = [
  {
    name: "an item is shown before it is durable",
    file: "server/topic/publishing.ts",
    from: "    this.#outgoing.push({ name, bytes: name.bytesOf(message), seq: undefined });",
    to: "    if (name instanceof DurableName) this.#outgoing.push({ name, bytes: name.bytesOf(message), seq: undefined });\n    else this.#topics.memory(name).push(name.bytesOf(message));",
    where: followed,
  },
  {
    name: "a topic that began anew has its old epoch",
    file: "server/topic/topics.ts",
    from: '    return Buffer.from(this.#parts.random.bytes(epochBytes)).toString("base64url");',
    to: '    return Buffer.alloc(epochBytes).toString("base64url");',
    where: all(followed, incident("crash", "close")),
  },
  {
    name: "a count of lost items is off by one",
    file: "runtime/stream/numbering.ts",
    from: '    return { $gap: "lost", count: seq - inHand.seq };',
    to: '    return { $gap: "lost", count: seq - inHand.seq + 1 };',
    where: all(followed, busyList, incident("block", "cut", "pauseClient", "crash")),
  },
  {
    name: "an item that comes again is given again",
    file: "runtime/stream/numbering.ts",
    from: '    if (seq <= (this.#inHand?.seq ?? 0)) return { kind: "known" };',
    to: "",
    where: all(slowReaders, ops(10, "append"), incident("block", "cut")),
  },
  {
    name: "what lay between two numberings goes unsaid",
    file: "runtime/stream/numbering.ts",
    from: '      return { $gap: "restarted", count: undefined };',
    to: "      return undefined;",
    where: all(followed, incident("crash", "close")),
  },
  {
    name: "who comes back goes on behind the newest item",
    file: "server/topic/live-topic.ts",
    from: "    return new TopicFollower(this, { seq: after.seq, restarted: false });",
    to: "    return new TopicFollower(this, { seq: Math.max(after.seq, this.#lastSeq - 1), restarted: false });",
    where: followed,
  },
  {
    name: "who waits for items is told once",
    file: "server/topic/live-topic.ts",
    from: "    this.#telling = false;\n    const waiting",
    to: "    const waiting",
    where: followed,
  },
  {
    name: "who lags is not ended",
    file: "server/topic/follower.ts",
    from: '    if (this.#seq + 1 < topic.firstSeq || this.#isFull()) return "lagged";',
    to: '    if (this.#seq + 1 < topic.firstSeq || this.#isFull()) return "nothing";',
    where: rush,
  },
  {
    name: "a stream that ended is not opened again",
    file: "runtime/stream/intake.ts",
    from: '  return again || lagged ? { kind: "again", afterMs } : { kind: "over", cause: undefined };',
    to: '  return again && !lagged ? { kind: "again", afterMs } : { kind: "over", cause: undefined };',
    where: rush,
  },
  {
    name: "a silent stream is not given up",
    file: "runtime/stream/idle-watch.ts",
    from: '      else this.#dead("idle");',
    to: "      else this.#schedule(1_000_000);",
    where: all(followed, incident("block")),
  },
  {
    name: "a stream is given up between two signs",
    file: "runtime/stream/idle-watch.ts",
    from: "    return this.#lastByteAt + idleMs - clock.monotonic();",
    to: "    return this.#lastByteAt + idleMs / 8 - clock.monotonic();",
    where: all(followed, (plan) => plan.beats && plan.signInMs === undefined),
  },
  {
    name: "a session is gone by the wall clock",
    file: "server/session/sessions.ts",
    from: "    return this.#upTime?.at(this.#parts.clock.monotonic()) ?? 0;",
    to: "    return this.#parts.clock.now();",
    where: all(({ beats }) => beats, incident("jumpServer")),
  },
  {
    name: "the time in which a server stood still counts for sessions",
    file: "server/session/up-time.ts",
    from: "    return this.#countedMs + Math.min(monotonicMs - this.#tickedAtMs, this.#tickMs);",
    to: "    return this.#countedMs + monotonicMs - this.#tickedAtMs;",
    where: standstill,
  },
];
