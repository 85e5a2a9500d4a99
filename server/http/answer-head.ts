/** The head of an answer that is written to Node: names in lower case, as HTTP/2 wants them. */
export class AnswerHead {
  readonly fields: Record<string, string | string[]> = {};

  set(name: string, value: string): void {
    this.fields[name] = value;
  }

  append(name: string, value: string): void {
    const before = this.fields[name];
    // The one header whose values do not join.
    if (name === "set-cookie") this.fields[name] = [before ?? [], value].flat();
    else this.fields[name] = before === undefined ? value : `${String(before)}, ${value}`;
  }

  delete(name: string): void {
    Reflect.deleteProperty(this.fields, name);
  }

  appendAll(headers: Headers | undefined, prefix = ""): void {
    headers?.forEach((value, name) => this.append(prefix + name, value));
  }
}
