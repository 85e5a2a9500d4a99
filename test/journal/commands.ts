/** Commands, callers and tries for the tests of the journal. */
import { create } from "@bufbuild/protobuf";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import type { LanePosition } from "../../runtime/call/headers.ts";
import type { Attempt, CallerKey } from "../../server/journal/answer.ts";
import {
  type AddRequest,
  AddRequestSchema,
  type AddResponse,
  AddResponseSchema,
  LedgerService,
} from "./gen/test/journal/v1/ledger_pb.ts";

export const add: CommandDefinition = { kind: "command", method: LedgerService.method.add };
export const remove: CommandDefinition = { kind: "command", method: LedgerService.method.remove };

export const ada: CallerKey = { space: "by ada", quota: "by ada", tag: "epoch.ada" };
export const ben: CallerKey = { space: "by ben", quota: "by ben", tag: "epoch.ben" };

/** A text that may be a call's or a lane's ID. */
export function idOf(name: string): string {
  return name.padEnd(16, "_");
}

export function request(points = 10, note = ""): AddRequest {
  return create(AddRequestSchema, { points: BigInt(points), note });
}

export function reply(balance: number): AddResponse {
  return create(AddResponseSchema, { balance: BigInt(balance) });
}

/** Where a try stands in its lane; first sent `agoMs` ago if not told. */
export function seat(
  seq: number,
  settled = 0,
  firstSent: LanePosition["firstSent"] = { agoMs: 0 },
): LanePosition {
  return { lane: idOf("lane"), seq, settled, tries: 1, firstSent };
}

export function attempt(id: string, changes: Partial<Attempt> & { lane?: LanePosition } = {}): Attempt {
  const { lane, ...rest } = changes;
  return {
    definition: add,
    request: request(),
    caller: ada,
    expectedTag: undefined,
    call: { id: idOf(id), lane },
    scope: "",
    waiting: new AbortController().signal,
    ...rest,
  };
}
