import { expect, it } from "vitest";
import { linkOf } from "../../../runtime/node/index.ts";
import { faultyProxy } from "../../../runtime/testing/node.ts";
import { virtualClock } from "../../../runtime/testing/virtual-clock.ts";
import { unsentBytesHigh } from "../../../runtime/wire/wire-end.ts";
import { createServer } from "../../../server/index.ts";
import { Notebook } from "../gen/test/objects/v1/notebook_holdfast.ts";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { remoteWorlds } from "../world.ts";

it.each(remoteWorlds)(
  "in $name: a slow watcher gets the newest value alone, memory stays bounded, and no old value comes last",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const notes = holdNotes(world);
    await world.settle();
    const heard: string[] = [];
    notes.title.subscribe(({ text }) => heard.push(text));
    const before = world.traffic.receivedBytes;
    const { provider } = world.ends();
    provider.heldBytes = unsentBytesHigh + 1;
    const long = "x".repeat(10_000);
    for (let round = 1; round <= 1_000; round++) {
      notebooks.last.title.update((draft) => void (draft.text = `${round} ${long}`));
      if (round % 100 === 0) await world.clock.advance(50);
    }
    expect(heard).toEqual([]);
    expect(world.traffic.receivedBytes - before).toBe(0);
    provider.heldBytes = 0;
    notebooks.last.title.update((draft) => void (draft.text = "last"));
    await world.clock.advance(50);
    expect(heard).toEqual(["last"]);
    // And from then on each change as it comes.
    notebooks.last.title.update((draft) => void (draft.text = "after"));
    await world.settle();
    expect(heard).toEqual(["last", "after"]);
    expect(world.traffic.receivedBytes - before).toBeLessThan(1_000);
  },
);

// A server's end of a wire is not to be had from outside: here the network itself is full.
it.each(["json", "msgpack"] as const)(
  "a server and a link over WebSocket with %s: the same where a real socket is full",
  async (codec) => {
    const clock = virtualClock();
    await using server = createServer({ clock });
    const notebooks = new Notebooks(server.host);
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    await using proxy = await faultyProxy({ target: { port } });
    await using link = linkOf(proxy.origin, { clock, codec, outbox: { atStart: false } });
    const notes = await link.get(Notebook, { session: "S1" }, { variant: "editor" });
    const turn = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(20);
    };
    const heard: string[] = [];
    notes.title.subscribe(({ text }) => heard.push(text));
    const states: string[] = [];
    notes.$state.subscribe(({ kind }) => states.push(kind));
    const long = "x".repeat(10_000);
    proxy.replies.stall();
    const before = proxy.replyBytes;
    const roundCount = 3_000;
    for (let round = 1; round <= roundCount; round += 1) {
      notebooks.last.title.update((draft) => void (draft.text = `${round} ${long}`));
      if (round % 20 === 0) await turn();
    }
    proxy.replies.release();
    notebooks.last.title.update((draft) => void (draft.text = "last"));
    for (let count = 0; count < 1_000 && heard.at(-1) !== "last"; count += 1) await turn();
    expect(heard.at(-1)).toBe("last");
    const numbers = heard.slice(0, -1).map((text) => Number.parseInt(text, 10));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    // What was on its way when the socket was full, and one value more.
    const mostBytes = (roundCount * long.length) / 2;
    expect(proxy.replyBytes - before).toBeLessThan(mostBytes);
    // Who reads so slowly that too much waits is cut; a watcher never is.
    expect(states).toEqual([]);
  },
);
