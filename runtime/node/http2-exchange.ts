/**
 * One request and its answer on one HTTP/2 stream. Every way in which a stream ends leads to one of three:
 * the answer is whole, a `ConnectionFault`, or the caller's own abort.
 */
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { Stop } from "../base/late-signal.ts";
import { goneFault, refusedFault, requestFault, resetFault } from "./node-errors.ts";
import { fromNodeHeaders } from "./node-headers.ts";
import { pour, type RequestBody } from "./request-body.ts";
import { ResponseBody } from "./response-body.ts";

export interface ExchangeHooks {
  /** A byte of the answer came. */
  readonly onByte: () => void;
  /** The stream is closed: its place is free. Called once. */
  readonly onClose: () => void;
  /** Whether the connection itself is no more. */
  readonly connectionGone: () => boolean;
}

/** The frame that a request begins with; Node has no name for it. */
const headersFrameType = 1;

export class Http2Exchange {
  /** The answer, as soon as its headers are there. Rejects with a fault or the signal's reason. */
  readonly answer: Promise<UniversalClientResponse>;
  readonly #origin: string;
  readonly #stream: ClientHttp2Stream;
  readonly #body: RequestBody;
  readonly #signal: Stop | undefined;
  readonly #onAbort: () => void;
  readonly #connectionGone: () => boolean;
  readonly #trailer = new Headers();
  #response: ResponseBody | undefined;
  #error: unknown;
  /** The server said, or Node knows, that the request was not taken. */
  #refused = false;
  #ended = false;

  constructor(
    origin: string,
    stream: ClientHttp2Stream,
    body: RequestBody,
    signal: Stop | undefined,
    hooks: ExchangeHooks,
  ) {
    this.#origin = origin;
    this.#stream = stream;
    this.#body = body;
    this.#signal = signal;
    this.#connectionGone = hooks.connectionGone;
    let reject: (reason: unknown) => void = () => undefined;
    this.answer = new Promise((resolve, fail) => {
      reject = fail;
      stream.once("response", (headers: IncomingHttpHeaders & { ":status"?: number }) => {
        hooks.onByte();
        body.keepNoMore();
        resolve(this.#answerOf(headers));
        stream.on("data", hooks.onByte);
      });
    });
    // Who awaits it comes a turn later; a stream that ends before that is no unhandled rejection.
    this.answer.catch(() => undefined);
    this.#onAbort = () => {
      reject(signal?.reason);
      this.#response?.abort(signal?.reason);
      this.#cancel();
    };
    signal?.addEventListener("abort", this.#onAbort);
    stream.on("trailers", (headers: IncomingHttpHeaders) => this.#takeTrailers(headers));
    stream.on("frameError", (type: number) => {
      if (type === headersFrameType) this.#refused = true;
    });
    stream.on("error", (error: Error) => {
      this.#error = error;
    });
    stream.on("close", () => {
      this.#signal?.removeEventListener("abort", this.#onAbort);
      if (this.#response === undefined) reject(this.#fault());
      hooks.onClose();
    });
    pour(body, stream).catch((error: unknown) => {
      // The source of the request's own body failed: that is the program's error, given on as it is.
      reject(error);
      this.#response?.abort(error);
      this.#cancel();
    });
  }

  /** The server begins no stream above `lastStreamId`: this one can be sent again if it is above. */
  goAway(lastStreamId: number): void {
    const id = this.#stream.id;
    if (this.#response !== undefined || (id !== undefined && id <= lastStreamId)) return;
    this.#refused = true;
    // Node leaves some of these open for ever. Not inside its own event, which may still end them itself.
    queueMicrotask(() => this.#cancel());
  }

  #answerOf(headers: IncomingHttpHeaders & { ":status"?: number }): UniversalClientResponse {
    this.#response = new ResponseBody({
      readable: this.#stream,
      endOf: (ended) => {
        this.#ended ||= ended;
        return ended && this.#stream.rstCode === constants.NGHTTP2_NO_ERROR && this.#error === undefined
          ? undefined
          : this.#fault();
      },
      onOver: () => {
        this.#body.stop();
        if (!this.#ended || !this.#stream.writableEnded) this.#cancel();
      },
    });
    this.#stream.resume();
    return {
      status: headers[":status"] ?? 0,
      header: fromNodeHeaders(headers),
      body: this.#response,
      trailer: this.#trailer,
    };
  }

  #takeTrailers(headers: IncomingHttpHeaders): void {
    for (const [name, value] of fromNodeHeaders(headers)) this.#trailer.append(name, value);
  }

  #fault(): unknown {
    if (this.#signal?.aborted === true) return this.#signal.reason;
    // Undefined until the stream is closed, whatever the types say.
    const code = (this.#stream.rstCode as number | undefined) ?? constants.NGHTTP2_NO_ERROR;
    const refused = this.#refused || code === constants.NGHTTP2_REFUSED_STREAM;
    // A server that has begun to answer has begun with the request, whatever it says later.
    if (refused && this.#response === undefined) return refusedFault(this.#origin, this.#error);
    if (this.#error instanceof ConnectionFault) return this.#error;
    if (code === constants.NGHTTP2_NO_ERROR && this.#error !== undefined)
      return requestFault(this.#origin, this.#error);
    // Node gives the streams of a connection that broke a code of its own: the server has not reset them.
    return this.#connectionGone()
      ? goneFault(this.#origin, this.#error)
      : resetFault(this.#origin, code, this.#error);
  }

  /** Tells the server that nobody wants the answer, and frees the stream without waiting for it. */
  #cancel(): void {
    if (this.#stream.destroyed) return;
    if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.destroy();
  }
}
