/**
 * The head of a request of Node, looked at where it lies: most requests are asked for a few names, and a whole
 * `Headers` of each would cost more than all answers to that.
 */
import type { NodeRequest } from "./node-listener.ts";

/** What can be asked for a header. `Headers` is one. */
export type HeaderLookup = Pick<Headers, "get">;

export class RequestHead implements HeaderLookup {
  readonly #request: NodeRequest;
  #all: Headers | undefined;

  constructor(request: NodeRequest) {
    this.#request = request;
  }

  get(name: string): string | null {
    const value = this.#request.headers[name];
    return value === undefined ? null : typeof value === "string" ? value : value.join(", ");
  }

  get all(): Headers {
    this.#all ??= headersOf(this.#request);
    return this.#all;
  }
}

/** All headers of a request; the names that HTTP/2 has for its first line are none. */
export function headersOf(request: NodeRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const one of typeof value === "string" ? [value] : value) headers.append(name, one);
  }
  return headers;
}

/** Whether a request names a host that can be. */
export function namesHost(request: NodeRequest): boolean {
  const host = "authority" in request ? request.authority : request.headers.host;
  return host !== undefined && URL.canParse(`http://${host}`);
}
