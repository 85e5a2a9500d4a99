/**
 * Where a server's routes are: on ports that it opened itself, which take more of them while they are open, and on
 * adapters of the program's own, which do not.
 */
import type { NodeListener } from "./http/node-listener.ts";

export class Ports {
  readonly #anew = new Set<() => void>();
  #mounted = false;

  /** Whether an adapter of the program's own has the routes. */
  get mounted(): boolean {
    return this.#mounted;
  }

  mount(routes: () => void): void {
    this.#mounted = true;
    routes();
  }

  /** A listener that is made anew when there are more routes. */
  listener(make: () => NodeListener): NodeListener {
    let listener = make();
    this.#anew.add(() => {
      listener = make();
    });
    return (request, response) => listener(request, response);
  }

  /** There are more routes. */
  grown(): void {
    for (const anew of this.#anew) anew();
  }
}
