/**
 * Calls on the objects of a host that is no server: each is given to the object's holding, and its answer is the
 * result. A server leads them through its admission and its journal instead.
 *
 * Source: design "Held objects: Parking".
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Call, Mark, type ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../base/clock.ts";
import { inFlightCountMost } from "../base/constants.ts";
import { deadlineAfter } from "../base/deadline.ts";
import { HoldfastError } from "../base/errors.ts";
import { liveError } from "../base/live-reasons.ts";
import { serverError } from "../base/server-reasons.ts";
import { linkMarks } from "../call/link-fields.ts";
import { messageIn, payloadOf } from "../wire/packet.ts";
import { errorResult, readHeaders, resultMessage } from "../wire/result-message.ts";
import type { ServerEnd } from "../wire/server-end.ts";
import { protocolFault } from "../wire/wire-end.ts";
import type { ObjectAnswer, ObjectCall } from "./holding.ts";
import type { LocalHolding } from "./local-holding.ts";
import type { ProviderSide } from "./provider-side.ts";
import { assertFits } from "./wire-size.ts";

interface Running {
  readonly call: ObjectCall;
  readonly holding: LocalHolding;
}

export class ProvidedCalls {
  readonly #end: ServerEnd;
  readonly #side: ProviderSide;
  readonly #clock: Clock;
  readonly #running = new Map<number, Running>();
  #lastId = 0;

  constructor(end: ServerEnd, side: ProviderSide, clock: Clock) {
    this.#end = end;
    this.#side = side;
    this.#clock = clock;
    end.take({ call: (call) => this.#begin(call), cancel: ({ id }) => this.#cancel(id) });
    end.onClose(() => this.#running.clear());
  }

  #begin(message: Call): void {
    const { id } = message;
    if (id <= this.#lastId) throw protocolFault(`the call ${id} does not come after ${this.#lastId}`);
    this.#lastId = id;
    if (message.hold === 0) {
      this.#end.send(errorResult({ id }, serverError("NO_SUCH_METHOD"), Mark.NONE, false));
      return;
    }
    const holding = this.#side.holding(message.hold);
    const call = this.#read(message);
    if (call instanceof ConnectError || holding === undefined) {
      const error = call instanceof ConnectError ? call : liveError("NOT_READY");
      this.#end.send(errorResult({ id }, error, Mark.NONE, false));
      return;
    }
    this.#running.set(id, { call, holding });
    void holding.call(call).then((answer) => this.#answer(id, call, answer));
  }

  #cancel(id: number): void {
    const running = this.#running.get(id);
    this.#running.delete(id);
    running?.holding.forget(running.call);
  }

  #read(message: Call): ObjectCall | ConnectError {
    if (this.#running.size >= inFlightCountMost) return serverError("OVERLOADED");
    const method = this.#side.method(message.hold, this.#end.nameOf(message.method));
    if (method === undefined) return liveError("NO_SUCH_MEMBER");
    const { member, definition } = method;
    const { stamp, headers, timeoutMs } = message;
    if (definition.kind === "command" && stamp === undefined) return serverError("CALL_ID_MISSING");
    return {
      member,
      definition,
      request: messageIn(this.#end.codec, definition.method.input, message.request),
      callId: definition.kind === "command" ? stamp?.callId : undefined,
      tries: stamp?.tries ?? 1,
      deadline: deadlineAfter(this.#clock, timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY),
      options: headers.length === 0 ? {} : { headers: readHeaders(headers) },
      whenOver: () => undefined,
    };
  }

  #answer(id: number, { definition }: ObjectCall, answer: ObjectAnswer): void {
    if (!this.#running.delete(id)) return;
    this.#end.send(this.#result(id, definition, answer));
  }

  #result(id: number, { method }: ObjectCall["definition"], answer: ObjectAnswer): ServerMessage {
    const { result, repeat } = answer;
    const mark = answer.mark === undefined ? Mark.UNSPECIFIED : linkMarks[answer.mark];
    const made = { id, setHeader: answer.header, setTrailer: answer.trailer };
    if ("error" in result) return errorResult(made, result.error, mark, repeat);
    try {
      const value = payloadOf(this.#end.codec, method.output, result.reply as never);
      assertFits([value], "the reply has");
      return resultMessage(made, { case: "reply", value }, mark, repeat);
    } catch (error) {
      const text = "the reply could not be written";
      const told = error instanceof HoldfastError ? error : new ConnectError(text, Code.Internal);
      return errorResult(made, told, mark, repeat);
    }
  }
}
