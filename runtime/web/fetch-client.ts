/**
 * HTTP by fetch: browsers, workers, and every runtime without Node's own modules. The browser pools
 * connections by itself, so that a client is only a gate that can be closed.
 */
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { HttpClient, HttpOptions, HttpRequest } from "../base/http-client.ts";
import { bodyFault, fetchFault } from "./fetch-errors.ts";

export interface FetchOptions extends Pick<HttpOptions, "origin"> {
  /** What sends. Default: the program's own fetch, looked up at each request. */
  readonly fetch?: typeof fetch;
  /** Whether cookies go with a request. Default: fetch's own, "same-origin". */
  readonly credentials?: RequestCredentials;
}

class FetchClient implements HttpClient {
  readonly #options: FetchOptions;
  readonly #underWay = new Set<AbortController>();
  #life: "open" | "retired" | "closed" = "open";

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  async send(request: HttpRequest): Promise<UniversalClientResponse> {
    const { signal } = request;
    signal?.throwIfAborted();
    if (this.#life !== "open") throw this.#goneFault(false);
    const ended = new AbortController();
    const over = (): void => {
      signal?.removeEventListener("abort", onAbort);
      this.#underWay.delete(ended);
    };
    const onAbort = (): void => {
      ended.abort(signal?.reason);
      over(); // also for an answer whose body nobody reads
    };
    signal?.addEventListener("abort", onAbort);
    this.#underWay.add(ended);
    try {
      const body = request.body === undefined ? undefined : await bytesOf(request.body);
      ended.signal.throwIfAborted();
      request.onSent?.(); // fetch never tells when bytes leave
      const response = await this.#fetch(request.url, {
        method: request.method,
        headers: headersOfPage(request.header),
        signal: ended.signal,
        // A POST to a sign-in page in place of our server is no answer. "manual" shows the redirect where
        // "error" would look like every other failure.
        redirect: "manual",
        ...(body === undefined ? {} : { body }),
      });
      return this.#answerOf(this.#direct(response), ended, over);
    } catch (error) {
      over();
      throw ended.signal.aborted ? ended.signal.reason : error;
    }
  }

  /**
   * A server whose CORS does not allow this page looks like no server at all to a plain fetch; an opaque one
   * tells that something answers, and nothing more.
   */
  async reach(url: string, signal: AbortSignal): Promise<Headers | undefined> {
    try {
      const answer = await this.send({ url, method: "HEAD", header: new Headers(), signal });
      await answer.body[Symbol.asyncIterator]().return?.();
      return answer.header;
    } catch (error) {
      const blind = error instanceof ConnectionFault && error.kind === "unknown";
      if (!blind || signal.aborted) throw error;
    }
    try {
      await this.#fetch(url, { method: "HEAD", mode: "no-cors", signal });
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  retire(): void {
    if (this.#life === "open") this.#life = "retired";
  }

  close(): void {
    this.#life = "closed";
    for (const ended of this.#underWay) ended.abort(this.#goneFault(true));
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { credentials } = this.#options;
    // Called as a plain function: a browser's fetch refuses to be the method of another object.
    const send: typeof fetch = this.#options.fetch ?? globalThis.fetch;
    try {
      return await send(url, credentials === undefined ? init : { ...init, credentials });
    } catch (error) {
      throw fetchFault(this.#options.origin, error);
    }
  }

  /** The answer, unless it is a redirect. */
  #direct(response: Response): Response {
    const redirected =
      response.type === "opaqueredirect" || response.redirected || isRedirect(response.status);
    if (!redirected) return response;
    response.body?.cancel().catch(() => undefined);
    throw new ConnectionFault(
      "not-our-answer",
      `${this.#options.origin} redirects the request, which our server never does: a sign-in page of a network or a proxy?`,
      { sent: true },
    );
  }

  #answerOf(response: Response, ended: AbortController, over: () => void): UniversalClientResponse {
    return {
      status: response.status,
      header: response.headers,
      body: bodyOf(response.body, {
        over,
        cancel: () => ended.abort(),
        faultOf: (error): unknown =>
          ended.signal.aborted ? ended.signal.reason : bodyFault(this.#options.origin, error),
      }),
      trailer: new Headers(), // fetch has none
    };
  }

  #goneFault(sent: boolean): ConnectionFault {
    const text = `the client of ${this.#options.origin} is ${this.#life}: it takes no new request`;
    return new ConnectionFault("cut", text, { sent });
  }
}

/**
 * Without the name that Connect gives every client: Firefox and Safari would ask the server whether a page of another
 * origin may set it, and Connect's list of what may be set does not have it. Chromium leaves it out by itself.
 */
function headersOfPage(header: Headers): Headers {
  const headers = new Headers(header);
  headers.delete("user-agent");
  return headers;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

/** All of a request's body: fetch can stream one up only over HTTP/2, and in Chromium alone. */
async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.byteLength;
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

interface BodyEnds {
  readonly over: () => void;
  readonly cancel: () => void;
  readonly faultOf: (error: unknown) => unknown;
}

const end: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/** By a reader: Safari's streams cannot be iterated. */
function bodyOf(stream: ReadableStream<Uint8Array> | null, ends: BodyEnds): AsyncIterable<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let stopped = false;
  const stop = (): void => {
    if (stopped) return;
    stopped = true;
    reader?.cancel().catch(() => undefined);
    ends.cancel();
    ends.over();
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (stopped || stream === null) {
      ends.over();
      return end;
    }
    reader ??= stream.getReader();
    try {
      const result = await reader.read();
      if (!result.done) return { done: false, value: result.value };
    } catch (error) {
      stopped = true;
      ends.over();
      throw ends.faultOf(error);
    }
    stopped = true;
    ends.over();
    return end;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        stop();
        return end;
      },
      throw: async (error: unknown) => {
        stop();
        throw error;
      },
    }),
  };
}

/** An HTTP client over fetch. `connectWaitMs` has no meaning here: fetch does not tell when it connects. */
export function fetchClient(options: FetchOptions): HttpClient {
  return new FetchClient(options);
}
