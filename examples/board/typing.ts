/** Who is writing on which item now: worth nothing a moment later, so it is in no log. */

/** Somebody who stops typing says nothing; after this the board takes it for done. */
const typingMs = 5_000;

export class Typing {
  readonly #byItem = new Map<string, { readonly by: string; readonly until: number }>();

  note(id: string, by: string, nowMs: number): void {
    this.#byItem.set(id, { by, until: nowMs + typingMs });
  }

  /** Empty when nobody is. */
  on(id: string, nowMs: number): string {
    const typing = this.#byItem.get(id);
    if (typing === undefined || typing.until > nowMs) return typing?.by ?? "";
    this.#byItem.delete(id);
    return "";
  }
}
