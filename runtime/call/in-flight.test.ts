import { expect, it } from "vitest";
import { InFlight } from "./in-flight.ts";

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Who has entered, in order, and what each was given to leave. */
function gate(most: number) {
  const inFlight = new InFlight(most);
  const inside: string[] = [];
  const leave = new Map<string, () => void>();
  const enter = async (name: string, signal: AbortSignal = never): Promise<void> => {
    const out = await inFlight.enter(signal);
    inside.push(name);
    leave.set(name, out);
  };
  return { enter, inside, leave: (name: string) => leave.get(name)?.() };
}

it("lets so many in at once; the others follow in their order as places are given back", async () => {
  const { enter, inside, leave } = gate(2);
  const all = Promise.all(["a", "b", "c", "d", "e"].map((name) => enter(name)));
  await turn();
  expect(inside).toEqual(["a", "b"]);
  leave("b");
  await turn();
  expect(inside).toEqual(["a", "b", "c"]);
  leave("a");
  leave("c");
  await all;
  expect(inside).toEqual(["a", "b", "c", "d", "e"]);
});

it("counts a place that is given back twice once", async () => {
  const { enter, inside, leave } = gate(1);
  await enter("a");
  const waiting = [enter("b"), enter("c")];
  leave("a");
  leave("a");
  await turn();
  expect(inside).toEqual(["a", "b"]);
  leave("b");
  await Promise.all(waiting);
});

it("rejects with the signal's reason who aborts while waiting, and takes no place for it", async () => {
  const { enter, inside, leave } = gate(1);
  await enter("a");
  const gone = new AbortController();
  const aborted = enter("b", gone.signal);
  const next = enter("c");
  gone.abort(new Error("b left"));
  await expect(aborted).rejects.toThrow("b left");
  expect(inside).toEqual(["a"]);
  leave("a");
  await next;
  expect(inside).toEqual(["a", "c"]);
});

it("hands on the place of who aborts in the moment of getting it", async () => {
  const { enter, inside, leave } = gate(1);
  await enter("a");
  const gone = new AbortController();
  const aborted = enter("b", gone.signal);
  const next = enter("c");
  gone.abort(new Error("b left"));
  leave("a");
  await expect(aborted).rejects.toThrow("b left");
  await next;
  expect(inside).toEqual(["a", "c"]);
  leave("c");
  await enter("d");
});

it("keeps no place for whoever had aborted before it came", async () => {
  const { enter, leave } = gate(1);
  await enter("a");
  await expect(enter("b", AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  leave("a");
  await enter("c");
});
