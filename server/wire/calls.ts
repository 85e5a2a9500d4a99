/**
 * Calls over a wire: each `call` is one try, and is answered with one `result`. What runs it is the same as over
 * HTTP; here are the messages, the caller's deadline, and the limits of one wire.
 *
 * Source: design "Which way a call goes", "Commands run once".
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Call, type Header, Mark, type Stamp } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import { inFlightCountMost } from "../../runtime/base/constants.ts";
import type { UnaryDefinition } from "../../runtime/base/definition.ts";
import { LateSignal, type Stop } from "../../runtime/base/late-signal.ts";
import { liveError } from "../../runtime/base/live-reasons.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Mark as MarkName } from "../../runtime/base/reasons.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { SharedTimer } from "../../runtime/base/shared-timer.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import { type CallHeader, isId } from "../../runtime/call/headers.ts";
import { linkMarks } from "../../runtime/call/link-fields.ts";
import { messageIn } from "../../runtime/wire/packet.ts";
import { errorResult, shapeReply } from "../../runtime/wire/result-message.ts";
import { protocolFault } from "../../runtime/wire/wire-end.ts";
import type { OpenWire } from "./open-wire.ts";

/** How a call was answered; that of HTTP has the same shape. */
export interface WireAnswer {
  readonly mark: MarkName | undefined;
  readonly repeat: boolean;
  readonly result: { readonly reply: Message } | { readonly error: ConnectError };
}

/** One try, as whoever runs it sees it. */
export interface WireCall {
  readonly wire: OpenWire;
  readonly definition: UnaryDefinition;
  /** As it came; an interceptor may put another in its place. */
  request: Message;
  /** Of a command with a call ID. */
  readonly call: CallHeader | undefined;
  /** The caller's tag that an earlier answer carried. */
  readonly expectedTag: string | undefined;
  /** The anonymous secret that the command was first sent with, where it is not this link's. */
  readonly anon: string | undefined;
  /** Ms of the monotonic clock at which the caller stops waiting; undefined: never. */
  readonly deadline: number | undefined;
  /** Aborts when nobody waits any more. */
  readonly stop: Stop;
  /** The same for who needs an AbortSignal. */
  readonly signal: AbortSignal;
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
  /** The caller's tag under which it is kept, once that is known and not the wire's. */
  tag: string | undefined;
}

/** Calls on the objects that a wire holds. */
export interface WireObjects {
  /**
   * The method of a name such as "notes.v1.NotebookService.Add"; undefined: the object has none such.
   *
   * @throws ConnectError a protocol fault, for a hold that there never was.
   */
  method(hold: number, name: string): UnaryDefinition | undefined;
  /** Neither throws nor rejects. */
  run(hold: number, name: string, call: WireCall): Soon<WireAnswer>;
}

/** Runs a try. Neither throws nor rejects. */
export type RunCall = (call: WireCall) => Soon<WireAnswer>;

export interface WireCallParts {
  /** The method of a name such as "board.v1.BoardService.Claim". */
  readonly method: (name: string) => UnaryDefinition | undefined;
  readonly run: RunCall;
  /** Where calls on held objects go. */
  readonly objects: (wire: OpenWire) => WireObjects;
  readonly replyBytesMost: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Lets a wire carry calls of the server's services. */
export function wireCalls(parts: WireCallParts): (wire: OpenWire) => void {
  return (wire) => {
    const calls = new WireCalls(wire, parts);
    wire.end.take({ call: (call) => calls.begin(call), cancel: ({ id }) => calls.cancel(id) });
    wire.end.onClose(() => calls.close());
  };
}

class WireCalls {
  readonly #wire: OpenWire;
  readonly #parts: WireCallParts;
  readonly #objects: WireObjects;
  readonly #running = new Map<number, Try>();
  readonly #definitions = new Map<number, UnaryDefinition | undefined>();
  #lastId = 0;
  readonly #deadlines: SharedTimer<Try>;

  constructor(wire: OpenWire, parts: WireCallParts) {
    this.#wire = wire;
    this.#parts = parts;
    this.#objects = parts.objects(wire);
    this.#deadlines = new SharedTimer(
      parts.clock,
      () => this.#running.values(),
      (made) => made.abort(new ConnectError("the call's deadline is over", Code.DeadlineExceeded)),
      { background: true },
    );
  }

  begin(call: Call): void {
    if (call.id <= this.#lastId)
      throw protocolFault(`the call ${call.id} does not come after ${this.#lastId}`);
    this.#lastId = call.id;
    const { hold } = call;
    const definition = hold === 0 ? this.#definitionOf(call) : this.#objects.method(hold, this.#nameOf(call));
    let made: Try;
    try {
      made = this.#read(call, definition);
    } catch (error) {
      this.#refuse(call.id, definition, error);
      return;
    }
    this.#wire.begin();
    const answer = hold === 0 ? this.#parts.run(made) : this.#objects.run(hold, this.#nameOf(call), made);
    if (answer instanceof Promise) {
      this.#running.set(call.id, made);
      this.#deadlines.watch(made.deadline);
      void answer.then((its) => this.#answer(made, its));
      return;
    }
    this.#say(made, answer);
    this.#wire.done();
  }

  /** Nobody waits for it: a command goes on, and is not answered. */
  cancel(id: number): void {
    const made = this.#running.get(id);
    if (made === undefined) return;
    this.#forget(made);
    made.abort(new ConnectError("the client waits no longer", Code.Canceled));
  }

  close(): void {
    this.#deadlines.rest();
    for (const made of this.#running.values())
      made.abort(new ConnectError("the wire is closed", Code.Canceled));
    this.#running.clear();
  }

  #nameOf({ method }: Call): string {
    return this.#wire.end.nameOf(method);
  }

  #definitionOf({ method }: Call): UnaryDefinition | undefined {
    const known = this.#definitions.get(method);
    if (known !== undefined) return known;
    const found = this.#parts.method(this.#wire.end.nameOf(method));
    this.#definitions.set(method, found);
    return found;
  }

  #read(call: Call, definition: UnaryDefinition | undefined): Try {
    if (definition === undefined && call.hold !== 0) throw liveError("NO_SUCH_MEMBER");
    if (definition === undefined) {
      const name = this.#wire.end.nameOf(call.method);
      throw serverError("NO_SUCH_METHOD", `the server does not have the method "${name.slice(0, 200)}"`);
    }
    if (this.#running.size >= inFlightCountMost) throw serverError("OVERLOADED");
    const { clock } = this.#parts;
    const deadline = call.timeoutMs > 0 ? clock.monotonic() + call.timeoutMs : undefined;
    const command = definition.kind === "command";
    if (command && (definition.requireId === true || call.hold !== 0) && call.stamp === undefined)
      throw serverError("CALL_ID_MISSING");
    const stamp = command && call.stamp !== undefined ? callOf(call.stamp, this.#wire.guest.link) : undefined;
    if (call.headers.length > 0) assertHeaders(call.headers);
    const request = messageIn(this.#wire.end.codec, definition.method.input, call.request);
    return new Try(this.#wire, definition, request, call, stamp, deadline);
  }

  #answer(made: Try, answer: WireAnswer): void {
    if (!this.#running.has(made.id)) return;
    this.#say(made, answer);
    // After it: with the last answer a wire that leaves is closed.
    this.#forget(made);
  }

  #say(made: Try, { repeat, result, mark: name }: WireAnswer): void {
    const { definition } = made;
    const { end } = this.#wire;
    const mark = name === undefined ? Mark.UNSPECIFIED : linkMarks[name];
    if ("error" in result) {
      end.send(errorResult(made, result.error, mark, repeat));
      return;
    }
    const { output } = definition.method;
    try {
      const its = { made, mark, repeat };
      end.sendPlain(shapeReply(end.codec, its, output, result.reply as never, this.#parts.replyBytesMost));
    } catch (error) {
      this.#parts.log.error("a reply could not be written", { method: definition.method.toString(), error });
      // The effect of a command stands, and a new try would only meet the same reply.
      const text = "the command ran, and its reply could not be written";
      const told =
        mark === Mark.RAN
          ? serverError("ALREADY_RAN", text)
          : new ConnectError("the reply could not be written", Code.Internal);
      end.send(errorResult(made, told, mark, repeat));
    }
  }

  /** Marks are of commands, and of what nobody knows to be none. */
  #refuse(id: number, definition: UnaryDefinition | undefined, thrown: unknown): void {
    const error = refusalOf(thrown);
    const marked = definition === undefined || definition.kind === "command";
    const stopped = error.code === Code.ResourceExhausted ? Mark.LATER : Mark.NONE;
    const mark = marked ? stopped : Mark.UNSPECIFIED;
    this.#wire.end.send(errorResult({ id }, error, mark, false));
  }

  #forget(made: Try): void {
    this.#running.delete(made.id);
    this.#wire.done();
  }
}

/**
 * One try under way, which itself tells when nobody waits for it any more. What most handlers never look at is made
 * when somebody does.
 */
class Try extends LateSignal implements WireCall {
  readonly id: number;
  readonly wire: OpenWire;
  readonly definition: UnaryDefinition;
  request: Message;
  readonly call: CallHeader | undefined;
  readonly expectedTag: string | undefined;
  readonly anon: string | undefined;
  readonly deadline: number | undefined;
  tag: string | undefined;
  readonly #headers: readonly Header[];
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(
    wire: OpenWire,
    definition: UnaryDefinition,
    request: Message,
    call: Call,
    header: CallHeader | undefined,
    deadline: number | undefined,
  ) {
    super();
    this.id = call.id;
    this.wire = wire;
    this.definition = definition;
    this.request = request;
    this.call = header;
    this.expectedTag = textOf(call.stamp?.expectedCaller);
    this.anon = textOf(call.stamp?.anon);
    this.deadline = deadline;
    this.#headers = call.headers;
  }

  get dueAt(): number | undefined {
    return this.deadline;
  }

  get stop(): Stop {
    return this;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= new Headers(
      this.#headers.map(({ name, value }): [string, string] => [name, value]),
    );
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** What the handler has set; undefined when nobody looked at it. */
  get setHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  get setTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }
}

function textOf(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

/** A stamp as the header that says the same over HTTP. */
function callOf(stamp: Stamp, link: string): CallHeader {
  const { callId, seq, settled, tries, firstSent } = stamp;
  const lane = stamp.lane === "" ? link : stamp.lane;
  const whole = Number.isSafeInteger(seq) && Number.isSafeInteger(settled) && settled >= 0;
  if (!isId(callId) || !isId(lane) || !whole || seq <= settled) throw serverError("CALL_ID_MALFORMED");
  if (stamp.anon !== "" && !isId(stamp.anon))
    throw serverError("CALL_ID_MALFORMED", "the stamp's anon cannot be read");
  switch (firstSent.case) {
    case "serverMs":
      return {
        id: callId,
        lane: { lane, seq, settled, tries, firstSent: { serverMs: timeOf(firstSent.value) } },
      };
    case "agoMs":
      return {
        id: callId,
        lane: { lane, seq, settled, tries, firstSent: { agoMs: timeOf(firstSent.value) } },
      };
    case undefined:
      throw serverError("CALL_ID_MALFORMED", "the stamp does not say when the call was first sent");
  }
}

function timeOf(ms: number): number {
  if (ms >= 0 && ms <= Number.MAX_SAFE_INTEGER) return ms;
  throw serverError("CALL_ID_MALFORMED", "the stamp's first sending is no time");
}

/** A wire is signed in by its hello, once: what else would sign in is a mistake of the program, or an attempt. */
const refusedHeaders: readonly string[] = ["authorization", "cookie"];

function assertHeaders(headers: readonly Header[]): void {
  for (const { name } of headers) {
    if (refusedHeaders.includes(name.toLowerCase())) {
      throw new ConnectError(`the header ${name} cannot go with a call over a wire`, Code.InvalidArgument);
    }
  }
}

function refusalOf(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  return new ConnectError(
    thrown instanceof Error ? thrown.message : "the call cannot be read",
    Code.InvalidArgument,
  );
}
