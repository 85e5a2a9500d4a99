/**
 * The HTTP client that all links of one server share. After a connection fault it is swapped once for all of
 * them: a try that failed on an older client swaps nothing. The old one takes no new try, and closes when the
 * calls under way on it have ended by their own time.
 *
 * Source: design "One rule for a new try".
 */
import type { HttpClient } from "../base/http-client.ts";

export class Connections {
  readonly #open: () => HttpClient;
  #current: HttpClient | undefined;
  #links = 0;
  /** Whether anything ever answered there in this process. */
  replied = false;

  constructor(open: () => HttpClient) {
    this.#open = open;
  }

  get client(): HttpClient {
    this.#current ??= this.#open();
    return this.#current;
  }

  /** A client apart from the shared one, for who keeps a connection to itself and closes it. */
  openOwn(): HttpClient {
    return this.#open();
  }

  /** The client had a connection fault. True when that swapped it. */
  swap(client: HttpClient): boolean {
    if (client !== this.#current) return false;
    this.#current = undefined;
    client.retire();
    return true;
  }

  /** One more link uses it. */
  join(): void {
    this.#links += 1;
  }

  /** One link less; the last one closes the connections. */
  leave(): void {
    this.#links -= 1;
    if (this.#links > 0) return;
    this.#current?.close();
    this.#current = undefined;
  }

  get unused(): boolean {
    return this.#links === 0;
  }
}
