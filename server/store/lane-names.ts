/**
 * The name of a lane among those of all spaces. Calls come in rows of one lane, so the last name is remembered: a text
 * that is made anew must be hashed anew wherever it is looked up.
 */
export class LaneNames {
  #space = "";
  #lane = "";
  #name = " ";

  of(space: string, lane: string): string {
    if (space !== this.#space || lane !== this.#lane) {
      this.#space = space;
      this.#lane = lane;
      this.#name = `${lane} ${space}`; // a lane is base64url, so two pairs never make the same text
    }
    return this.#name;
  }
}
