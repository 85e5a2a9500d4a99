/** Sign-ins of the simulation: a token is a person and a number, and counts until its person's numbers are raised. */
export class Tokens {
  #least = 1;

  /** Tokens of now do not count any more. */
  expire(): void {
    this.#least += 1;
  }

  /** What a token source gives: it learns that a token is too old when the server says so. */
  of(person: string, fresh: boolean): string {
    const number = fresh ? this.#least : (this.#known.get(person) ?? this.#least);
    this.#known.set(person, number);
    return `${person}~${number}`;
  }

  /** @throws Error for a token that does not count. */
  personOf(token: string | undefined): string | undefined {
    if (token === undefined) return undefined;
    const [person, number] = token.split("~");
    if (Number(number) < this.#least) throw new Error("the token is too old");
    return person;
  }

  readonly #known = new Map<string, number>();
}
