/** Breakages of held objects and of calls over wires. */
import type { Breakage } from "./breakage.ts";
import { all, holds, incident, ops, rate, wires } from "./worlds.ts";

const held = all(holds, ops(6, "put", "knock", "look", "push"));

export const objects: readonly Breakage[] = [
  {
    name: "parked calls leave in another order",
    file: "runtime/hold/parking.ts",
    from: "    this.#way = way;\n    for (const call of [...this.#calls]) {",
    to: "    this.#way = way;\n    for (const call of [...this.#calls].reverse()) {",
    where: held,
  },
  {
    name: "a call on an object has its budget anew when it leaves",
    file: "runtime/hold/pending-call.ts",
    from: "this.#setTimer(this.deadline.leftMs(), () => this.end(this.#budgetEnded()));",
    to: "this.#setTimer(this.#budgetMs, () => this.end(this.#budgetEnded()));",
    where: held,
  },
  {
    name: "a command on an object that is sent at most once is sent again after a drop",
    file: "runtime/hold/pending-call.ts",
    from: "    } else if (!this.isRepeatable) this.end",
    to: "    } else if (this.tries > 1_000) this.end",
    where: all(held, ops(2, "knock"), incident("cut", "block", "crash")),
  },
  {
    name: "what was lost on its way to an object is not sent again",
    file: "runtime/hold/parking.ts",
    from: "      if (!call.isOver && !call.isSent) this.#send(call, way);",
    to: "      if (!call.isOver && !call.isSent && call.tries === 0) this.#send(call, way);",
    where: all(held, incident("cut", "block", "crash")),
  },
  {
    name: "an object that is bound anew shows what it showed before",
    file: "runtime/hold/remote-object.ts",
    from: "    const last = adopted(this.request.type, message, layout, codec, this.#last);",
    to: "    const last = this.#last ?? adopted(this.request.type, message, layout, codec, this.#last);",
    where: all(held, incident("cut", "block", "crash")),
  },
  {
    name: "an object begins before the one before it has ended",
    file: "runtime/hold/object.ts",
    from: "    await this.#teardown;\n    // It may",
    to: "    // It may",
    where: all(held, ({ endMsMost }) => endMsMost > 0),
  },
  {
    name: "an object that nobody holds lives on",
    file: "runtime/hold/object.ts",
    from: "    if (!this.#holders.delete(holder) || this.#holders.size > 0 || this.served.lifelong) return;",
    to: "    if (!this.#holders.delete(holder) || this.#holders.size >= 0 || this.served.lifelong) return;",
    where: held,
  },
  {
    name: "what is unchanged is said whatever the variant",
    file: "runtime/hold/provided-hold.ts",
    from: "have === undefined || have.variant !== binding.variant.name",
    to: "have === undefined",
    where: ({ writers }) => writers === "alice",
  },
  {
    name: "the newest of what waits for a slow reader is lost",
    file: "runtime/hold/slow-frames.ts",
    from: "    else waiting.set(member, change);",
    to: "",
    where: ({ wireRoomBytes }) => wireRoomBytes !== undefined,
  },
  {
    name: "what a wire brought counts after it is gone",
    file: "runtime/hold/wire-holds.ts",
    from: "    for (const object of objects) if (object.held === this) object.dropped(cause);\n    for (const object of this.#objects.values()) object.held = undefined;",
    to: "    for (const object of this.#objects.values()) object.held = undefined;",
    where: all(held, incident("cut", "block", "crash")),
  },
  {
    name: "a value overtakes one that waits for a slow reader",
    file: "runtime/hold/remote-object.ts",
    from: "      if (sharer.opened && this.#sharers.has(sharer)) sharer.holder.changed(state.name, change);",
    to: "      if (sharer.opened && version % 3 > 0) sharer.holder.changed(state.name, change);",
    where: held,
  },
  {
    name: "an answer on a wire goes to nobody",
    file: "server/wire/calls.ts",
    from: "    if (!this.#running.has(made.id)) return;",
    to: "    if (!this.#running.has(made.id) || made.id % 7 === 3) return;",
    where: wires,
  },
  {
    name: "a call on a wire carries the lane of another link",
    file: "server/wire/calls.ts",
    from: '  const lane = stamp.lane === "" ? link : stamp.lane;',
    to: '  const lane = stamp.lane === "" ? "a".repeat(link.length) : stamp.lane;',
    where: all(wires, ({ clients }) => clients.length > 1, rate("requestLate", 0)),
  },
];
