/**
 * Unary requests of the Connect protocol, from Node's request to Node's answer. Connect's own handler is made for
 * every protocol and for streams: for each request it makes several signals, aborts them when it has succeeded, copies
 * headers and pipes both bodies. Here each is made when somebody looks at it.
 *
 * It takes what has nothing special about it, and hands on the rest as it came: gRPC, gRPC-Web, GET, a compressed
 * body, a header that cannot be read. A client sees the same, whichever of the two answers; a test compares them.
 *
 * Source: `docs/decisions/010-the-unary-path.md`.
 */
import type { DescMessage, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import {
  type Compression,
  compressionNegotiate,
  createMethodSerializationLookup,
  type MethodSerializationLookup,
} from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { UnaryDefinition } from "../../runtime/base/definition.ts";
import type { Mark } from "../../runtime/base/reasons.ts";
import { AnswerHead } from "./answer-head.ts";
import { setAnswerHeaders } from "./answer-headers.ts";
import { markOfCode, markOfError } from "./answer-mark.ts";
import type { Entered } from "./exchange.ts";
import type { NodeRequest, NodeResponse } from "./node-listener.ts";
import { wholeBody } from "./request-body.ts";
import { namesHost } from "./request-head.ts";
import { type RouteParts, tooLarge, unwritten } from "./routes.ts";
import type { StalledWrites } from "./stalled-writes.ts";
import { UnaryExchange } from "./unary-exchange.ts";

/** A method that this route knows. */
interface Its {
  readonly definition: UnaryDefinition;
  readonly serialization: MethodSerializationLookup<DescMessage, DescMessage>;
}

/** An answer that is ready to be written. */
interface Written {
  readonly status: number;
  readonly head: AnswerHead;
  readonly body: Uint8Array;
}

/** What the listener does around an answer. */
export interface AnswerHooks {
  readonly stalled: StalledWrites;
  /** A part of the body is left. */
  readonly readOut: () => void;
  /** The answer cannot be written. */
  readonly failed: (error: unknown) => void;
}

const contentTypes: readonly (string | undefined)[] = ["application/proto", "application/json"];

const compressions = [compressionGzip, compressionBrotli];
/** Connect's own least size. */
const compressedBytesLeast = 1024;

export class UnaryRoute<E extends Entered> {
  readonly #parts: RouteParts<E>;
  readonly #methods = new Map<string, Its>();
  /** Those that are not answered yet. */
  readonly #open = new Set<UnaryExchange<E>>();

  constructor(parts: RouteParts<E>) {
    const { requestBytesMost, replyBytesMost } = parts.limits;
    this.#parts = parts;
    // What the program has around its handlers is made for Connect's.
    if (parts.interceptors.length > 0) return;
    for (const definition of parts.definitions()) {
      if (definition.kind === "stream" || definition.kind === "plain") continue;
      const method: DescMethodUnary = definition.method;
      const limits = { readMaxBytes: requestBytesMost, writeMaxBytes: replyBytesMost };
      const serialization = createMethodSerializationLookup(method, undefined, undefined, limits);
      this.#methods.set(`/${method.parent.typeName}/${method.name}`, { definition, serialization });
    }
    parts.shutdown.addEventListener("abort", () => {
      for (const one of this.#open) one.abort(ConnectError.from(parts.shutdown.reason));
    });
  }

  /** Whether it answers a request. */
  takes(request: NodeRequest): boolean {
    const { method, url = "", headers } = request;
    return (
      method === "POST" &&
      this.#methods.has(url) &&
      contentTypes.includes(headers["content-type"]) &&
      (headers["content-encoding"] ?? "identity") === "identity" &&
      /^[1-9]\d{0,9}$/.test(String(headers["connect-timeout-ms"] ?? 1)) &&
      namesHost(request) &&
      !this.#parts.shutdown.aborted
    );
  }

  /** Answers a request that it takes. */
  answer(request: NodeRequest, response: NodeResponse, { stalled, readOut, failed }: AnswerHooks): void {
    const its = this.#methods.get(request.url ?? "");
    if (its === undefined) return;
    const one = new UnaryExchange<E>(request, this.#parts.clock);
    this.#open.add(one);
    response.once("close", () => {
      if (this.#open.delete(one)) one.abort(new ConnectError("the client is gone", Code.Canceled));
    });
    const write = ({ status, head, body }: Written): void => {
      one.over();
      if (!this.#open.delete(one)) return; // nobody is there any more
      if (one.progress === "arrived") readOut();
      stalled.add(response, { pieces: 1, waitedAt: undefined });
      response.writeHead(status, head.fields);
      response.end(body);
    };
    this.#answered(its, one).then(write).catch(failed);
  }

  /** Never rejects. */
  async #answered(its: Its, one: UnaryExchange<E>): Promise<Written> {
    try {
      const reply = await this.#run(its, one);
      const body = its.serialization.getO(one.binary).serialize(reply);
      return await this.#written(200, body, its, one, undefined);
    } catch (thrown) {
      const error = this.#errorOf(thrown, its, one);
      const body = errorToJsonBytes(error, undefined);
      return await this.#written(codeToHttpStatus(error.code), body, its, one, error);
    }
  }

  /** From the entrance to the handler's reply; rejects with the error that ends it. */
  async #run({ definition, serialization }: Its, one: UnaryExchange<E>): Promise<Message> {
    const { limits, clock } = this.#parts;
    try {
      const entered = await this.#enter(definition, one);
      one.enter(entered, clock);
      const bytes = await wholeBody(one.request, clock, {
        waitMs: limits.bodyWaitMs,
        bytesMost: limits.requestBytesMost,
        tooLarge: () => tooLarge(limits),
      });
      one.progress = "read";
      const message = serialization.getI(one.binary).parse(bytes);
      one.progress = "dispatched";
      one.answer = await this.#parts.unary(definition, message, one, entered);
    } finally {
      // The dispatcher gives back the turn of what it was handed, when the handler has ended.
      if (one.progress !== "dispatched") one.entered?.leave();
    }
    const { result } = one.answer;
    if ("error" in result) throw result.error;
    return result.reply;
  }

  #enter(definition: UnaryDefinition, one: UnaryExchange<E>): Promise<E> {
    const { limits, clock } = this.#parts;
    const { head, deadline } = one;
    if (Number(head.get("content-length") ?? 0) > limits.requestBytesMost) throw tooLarge(limits);
    return this.#parts.enter({
      definition,
      header: head,
      get allHeaders() {
        return head.all;
      },
      address: one.request.socket.remoteAddress,
      deadline,
      atMs: clock.now(),
      stop: one.stop,
    });
  }

  /** What a client is told, in place of what is not for it. */
  #errorOf(thrown: unknown, { definition }: Its, one: UnaryExchange<E>): ConnectError {
    const instead = unwritten(definition, one.answer, this.#parts.log);
    if (instead !== undefined) return instead;
    if (thrown instanceof ConnectError) return thrown;
    return one.entered === undefined
      ? ConnectError.from(thrown, Code.Internal)
      : new ConnectError("internal error", Code.Internal, undefined, undefined, thrown);
  }

  async #written(
    status: number,
    plain: Uint8Array,
    { definition }: Its,
    one: UnaryExchange<E>,
    error: ConnectError | undefined,
  ): Promise<Written> {
    const { serverHeader, clock, cors } = this.#parts;
    const head = new AnswerHead();
    one.writeHead(head, error);
    const compression = plain.byteLength < compressedBytesLeast ? null : compressionOf(one);
    if (compression !== null) head.set("content-encoding", compression.name);
    const body = compression === null ? plain : await compression.compress(plain);
    head.set("content-length", `${body.byteLength}`);
    const command = definition.kind === "command";
    setAnswerHeaders(head, {
      server: serverHeader,
      nowMs: Math.floor(clock.now()),
      mark: command ? markOf(one, error) : undefined,
      repeat: one.answer?.repeat ?? false,
      tag: command ? one.entered?.tag : undefined,
    });
    cors.allow(one.head, head);
    return { status, head, body };
  }
}

function compressionOf({ head }: UnaryExchange<Entered>): Compression | null {
  const name = "accept-encoding";
  return compressionNegotiate(compressions, null, head.get(name), name).response;
}

function markOf(one: UnaryExchange<Entered>, error: ConnectError | undefined): Mark {
  if (one.answer?.mark !== undefined) return one.answer.mark;
  if (error === undefined) return "ran";
  return one.entered === undefined ? markOfError(error) : markOfCode(error.code, one.progress !== "arrived");
}
