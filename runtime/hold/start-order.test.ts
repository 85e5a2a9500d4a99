import { describe, expect, it } from "vitest";
import { StartOrder } from "./start-order.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function pile(serial: boolean): {
  readonly started: string[];
  add(name: string, command: boolean): void;
  end(name: string): Promise<void>;
} {
  const order = new StartOrder(serial);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    add(name, command) {
      void order.start(command, (begun) => {
        started.push(name);
        begun();
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    },
    async end(name) {
      ends.get(name)?.();
      await turn();
    },
  };
}

describe("calls of one reference", () => {
  it("start in their order, and never inside the call itself", async () => {
    const calls = pile(false);
    calls.add("a", true);
    calls.add("b", false);
    calls.add("c", true);
    expect(calls.started).toEqual([]);
    await turn();
    expect(calls.started).toEqual(["a", "b", "c"]);
  });

  it("wait for one that was given its turn and has not started, but not for its end", async () => {
    const order = new StartOrder(false);
    const started: string[] = [];
    let look: () => void = () => undefined;
    void order.start(true, (begun) => {
      look = begun;
      return new Promise(() => undefined);
    });
    void order.start(false, () => Promise.resolve(started.push("second")));
    await turn();
    expect(started).toEqual([]);
    look();
    await turn();
    expect(started).toEqual(["second"]);
  });

  it("with serial: a command that nobody waits for any more keeps its turn until its handler has ended", async () => {
    const order = new StartOrder(true);
    const started: string[] = [];
    let end: () => void = () => undefined;
    const handler = new Promise<void>((resolve) => {
      end = resolve;
    });
    const answer = order.start(true, (begun, until) => {
      begun();
      until(handler);
      return Promise.resolve("given up");
    });
    void order.start(true, () => Promise.resolve(started.push("next")));
    expect(await answer).toBe("given up");
    await turn();
    expect(started).toEqual([]);
    end();
    await turn();
    expect(started).toEqual(["next"]);
  });

  it("with serial: a command starts when the last one is settled, and nothing overtakes it", async () => {
    const calls = pile(true);
    calls.add("a", true);
    calls.add("query", false);
    calls.add("b", true);
    calls.add("query behind b", false);
    await turn();
    expect(calls.started).toEqual(["a", "query"]);
    await calls.end("a");
    expect(calls.started).toEqual(["a", "query", "b", "query behind b"]);
  });

  it("with serial: one that fails lets the next one start", async () => {
    const order = new StartOrder(true);
    const first = order.start(true, () => Promise.reject(new Error("no")));
    await expect(first).rejects.toThrow("no");
    await expect(order.start(true, () => Promise.resolve(1))).resolves.toBe(1);
  });
});
