/**
 * One unary request on its way from Node's request to its handler: what the handler is given beside its message, each
 * made when somebody looks at it, and how far it came.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import { LateSignal } from "../../runtime/base/late-signal.ts";
import type { AnswerHead } from "./answer-head.ts";
import type { Entered, UnaryAnswer } from "./exchange.ts";
import type { NodeRequest } from "./node-listener.ts";
import { RequestHead } from "./request-head.ts";
import { timeoutMsOf } from "./timeout-header.ts";

/** A handler may have left work behind that listens to its signal. */
const over = new ConnectError("the request is answered", Code.Canceled);

export class UnaryExchange<E extends Entered> {
  readonly request: NodeRequest;
  readonly head: RequestHead;
  /** Of the request, and of its reply. */
  readonly contentType: string;
  /** Ms of the monotonic clock at which the client stops waiting; undefined: never. */
  readonly deadline: number | undefined;
  /** What the entrance found out; undefined: it did not let it in. */
  entered: E | undefined;
  /** Its body not read yet, read, in the hands of the dispatcher. */
  progress: "arrived" | "read" | "dispatched" = "arrived";
  answer: UnaryAnswer | undefined;
  /** Aborts when the client is gone, its deadline is over, or the server ends. */
  readonly stop = new LateSignal();
  #timer: Timer | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(request: NodeRequest, clock: Clock) {
    this.request = request;
    this.head = new RequestHead(request);
    this.contentType = this.head.get("content-type") ?? "";
    const timeoutMs = timeoutMsOf(this.head);
    this.deadline = timeoutMs === undefined ? undefined : clock.monotonic() + timeoutMs;
  }

  /** It is let in: from here on its deadline ends it. While it waits for its turn, admission says that it came too late. */
  enter(entered: E, clock: Clock): void {
    this.entered = entered;
    if (this.deadline === undefined) return;
    const late = (): void => this.abort(new ConnectError("the operation timed out", Code.DeadlineExceeded));
    this.#timer = clock.timer(this.deadline - clock.monotonic(), late, { background: true });
  }

  get binary(): boolean {
    return this.contentType === "application/proto";
  }

  /** The same for who needs an AbortSignal. */
  get signal(): AbortSignal {
    return this.stop.signal;
  }

  get requestHeader(): Headers {
    return this.head.all;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers({ "content-type": this.contentType });
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** Puts in what the handler has set of the answer's head, and of its end, which Connect has in the head too. */
  writeHead(head: AnswerHead, error: ConnectError | undefined): void {
    if (this.#responseHeader === undefined) head.set("content-type", this.contentType);
    else head.appendAll(this.#responseHeader);
    if (error !== undefined) {
      head.set("content-type", "application/json");
      error.metadata.forEach((value, name) => head.set(name, value));
    }
    head.appendAll(this.#responseTrailer, "trailer-");
  }

  abort(reason: ConnectError): void {
    this.#timer?.cancel();
    this.stop.abort(reason);
  }

  /** It is answered. */
  over(): void {
    this.abort(over);
  }
}
