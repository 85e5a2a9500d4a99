/** What a host does beyond what every world does: loading, dependencies, grants, serial objects, closing. */
import { create, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  Counter,
  Document,
  Notebook,
  Serial,
  Slow,
} from "../../test/objects/gen/test/objects/v1/notebook_holdfast.ts";
import {
  DocumentContentSchema,
  SerialLogSchema,
  SlowProgressSchema,
} from "../../test/objects/gen/test/objects/v1/notebook_pb.ts";
import { gate, Notebooks } from "../../test/objects/notebooks.ts";
import { failing, kept } from "../../test/objects/suite.ts";
import { recordedLog } from "../../test/objects/world.ts";
import type { Member } from "../base/objects.ts";
import { state } from "../delta/state.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../testing/virtual-clock.ts";
import { stateNames } from "./bound-states.ts";
import type { Binding, Holder } from "./holding.ts";
import { createHost, type Host, type HostOptions, insideOf } from "./host.ts";
import { keyedParams } from "./params-key.ts";

interface Parts {
  readonly host: Host;
  readonly clock: VirtualClock;
  readonly errors: readonly string[];
}

function made(options: HostOptions = {}): Parts {
  const clock = virtualClock();
  const { log, errors } = recordedLog();
  return { host: createHost({ clock, random: seededRandom(3), log, ...options }), clock, errors };
}

describe("serve", () => {
  it("refuses what is no definition, a type that is served, a linger that is no time", () => {
    const { host } = made();
    new Notebooks(host);
    expect(() => new Notebooks(host)).toThrow(/NotebookService is served already/);
    expect(() => host.serve({} as typeof Counter, () => ({}) as never)).toThrow(
      /takes an object's definition/,
    );
    expect(() => host.serve(Counter, undefined as never)).toThrow(/takes a function/);
    const factory = (): never => ({}) as never;
    expect(() => host.serve(Counter, factory, { lingerMs: Number.NaN })).toThrow(/lingerMs is NaN/);
    expect(() => createHost({ readyTimeoutMs: 0 })).toThrow(/readyTimeoutMs is 0/);
  });
});

describe("hold of a type that is not served here", () => {
  it("throws at once, and get rejects", async () => {
    const { host } = made();
    expect(() => host.hold(Counter, {})).toThrow(/CounterService is not served by this host/);
    await expect(host.get(Counter, {})).rejects.toThrow(TypeError);
  });

  it("waits while the host loads, then takes what was served, or fails broken", async () => {
    const ready = gate();
    const { host, clock } = made({
      load: async (loading) => {
        await ready.passed;
        new Notebooks(loading);
      },
    });
    const notes = host.hold(Notebook, { session: "S1" });
    const got = host.get(Notebook, { session: "S1" });
    const counter = host.hold(Counter, {});
    const bad = host.hold(Notebook, { session: 5 } as unknown as { session: string });
    const refused = kept(host.get(Counter, {}));
    const released = host.hold(Notebook, { session: "S2" });
    await clock.settle();
    expect([notes, counter, bad].map(({ $state }) => $state.value.kind)).toEqual([
      "loading",
      "loading",
      "loading",
    ]);
    await released.$release();
    ready.open();
    await clock.settle();
    expect(notes.$state.value.kind).toBe("live");
    expect((await got).$state.value.kind).toBe("live");
    expect(counter.$state.value).toMatchObject({ kind: "failed", retryAt: undefined });
    expect(bad.$state.value).toMatchObject({
      cause: failing({ code: Code.InvalidArgument }),
      retryAt: undefined,
    });
    await expect(refused).rejects.toThrow(/not served by this host/);
    expect(released.$state.value.kind).toBe("released");
    expect(() => host.hold(Counter, {})).toThrow(TypeError);
    await host.close();
  });

  it("fails broken when the load fails", async () => {
    const { host, clock, errors } = made({ load: () => Promise.reject(new Error("no file")) });
    const notes = host.hold(Notebook, { session: "S1" });
    await clock.settle();
    expect(notes.$state.value).toMatchObject({ kind: "failed", retryAt: undefined });
    expect(() => host.hold(Notebook, { session: "S1" })).toThrow(/the load of this host failed/);
    expect(errors).toEqual(["the load of this host failed"]);
  });
});

describe("a ready timeout", () => {
  it("is the use's, else the host's, else the type's", async () => {
    const { host, clock } = made({ readyTimeoutMs: 2_000 });
    host.serve(Slow, ({ self }) => new Promise((_, reject) => self.signal.addEventListener("abort", reject)));
    const use = kept(host.get(Slow, { name: "a" }, { readyTimeoutMs: 500 }));
    await clock.advance(500);
    await expect(use).rejects.toThrow(/not live inside 500 ms/);
    const ofHost = kept(host.get(Slow, { name: "b" }));
    await clock.advance(2_000);
    await expect(ofHost).rejects.toEqual(failing({ code: Code.Unavailable }));
    await host.close();
    const other = made();
    other.host.serve(
      Slow,
      ({ self }) => new Promise((_, reject) => self.signal.addEventListener("abort", reject)),
    );
    const ofType = kept(other.host.get(Slow, { name: "c" }));
    await other.clock.advance(5_000);
    await expect(ofType).rejects.toEqual(failing({ code: Code.Unavailable }));
    await other.host.close();
  });
});

/** A document that depends on a slow object, which the test directs. */
function dependent(): Parts & {
  readonly story: string[];
  slowStarts: () => void | Promise<void>;
  failSlow: (cause: Error) => void;
} {
  const parts = made();
  const story: string[] = [];
  const directed = {
    ...parts,
    story,
    slowStarts: (): void | Promise<void> => undefined,
    failSlow: (_: Error): void => undefined,
  };
  parts.host.serve(Slow, async ({ self }) => {
    story.push("slow starts");
    self.onEnd(() => void story.push("slow ends"));
    await directed.slowStarts();
    directed.failSlow = (cause) => self.fail(cause);
    const progress = state(SlowProgressSchema);
    return { progress, work: ({ amount }) => ({ done: amount }) };
  });
  parts.host.serve(
    Document,
    async ({ self, params }) => {
      story.push("document starts");
      const slow = await self.get(Slow, { name: params.id });
      self.onEnd(async () => {
        const { done } = await slow.work({ amount: 7 });
        story.push(`document ends, slow did ${done}`);
      });
      const content = state(DocumentContentSchema, { text: "" });
      return {
        content,
        write: async ({ text }) => {
          const { done } = await slow.work({ amount: text.length });
          content.update((draft) => void (draft.text += text));
          return { revision: done };
        },
      };
    },
    { lingerMs: 1_000 },
  );
  return directed;
}

describe("an object that depends on another", () => {
  it("is live after it, keeps it while it lingers, and ends before it", async () => {
    const { host, clock, story } = dependent();
    const doc = await host.get(Document, { id: "a" });
    await expect(doc.write({ text: "four" })).resolves.toMatchObject({ revision: 4 });
    await doc.$release();
    await clock.advance(999);
    expect(story).toEqual(["document starts", "slow starts"]);
    await clock.advance(1);
    expect(story.slice(2)).toEqual(["document ends, slow did 7", "slow ends"]);
    expect(clock.pendingCount).toBe(0);
  });

  it("stays live when that one fails, and its calls to it wait", async () => {
    const world = dependent();
    const doc = await world.host.get(Document, { id: "a" });
    world.failSlow(new ConnectError("away", Code.Unavailable));
    await world.clock.settle();
    const again = gate();
    world.slowStarts = () => again.passed;
    await world.clock.advance(250);
    const call = doc.write({ text: "four" });
    await world.clock.settle();
    expect(doc.$state.value.kind).toBe("live");
    again.open();
    await expect(call).resolves.toMatchObject({ revision: 4 });
    expect(world.story.filter((line) => line === "document starts")).toHaveLength(1);
    await world.host.close();
  });

  it("waits while that one fails for now, inside its own time, and fails with it when it is broken", async () => {
    const world = dependent();
    let failures = 3;
    world.slowStarts = () => {
      if (failures-- > 0) throw new ConnectError("away", Code.Unavailable);
    };
    const doc = world.host.hold(Document, { id: "a" });
    await world.clock.advance(2_000);
    expect(doc.$state.value.kind).toBe("live");
    expect(world.story.filter((line) => line === "document starts")).toHaveLength(1);
    world.slowStarts = () => {
      throw new ConnectError("no such thing", Code.NotFound);
    };
    await expect(world.host.get(Document, { id: "b" })).rejects.toEqual(failing({ code: Code.NotFound }));
    await world.host.close();
  });

  it("tries again at once when what it waited for in vain is there", async () => {
    const world = dependent();
    const there = gate();
    world.slowStarts = () => there.passed;
    const doc = world.host.hold(Document, { id: "a" });
    const slow = world.host.hold(Slow, { name: "a" });
    // Its own wait is the slow object's 5 s; then it fails, in growing windows.
    await world.clock.advance(40_000);
    while (doc.$state.value.kind !== "failed") await world.clock.advance(100);
    world.slowStarts = () => undefined;
    there.open();
    slow.$retry();
    await world.clock.settle();
    expect(slow.$state.value.kind).toBe("live");
    expect(doc.$state.value.kind).toBe("live");
    await world.host.close();
  });

  it("ends before it when the host closes, lingering or held", async () => {
    const { host, story } = dependent();
    await host.get(Document, { id: "a" });
    await host.close();
    expect(story.slice(2)).toEqual(["document ends, slow did 7", "slow ends"]);
  });
});

describe("a serial object", () => {
  it("starts a command of a reference when the last one is settled", async () => {
    const { host, clock } = made();
    const started: string[] = [];
    const gates = new Map(["a", "b", "c"].map((line) => [line, gate()]));
    host.serve(Serial, () => ({
      log: state(SerialLogSchema),
      append: async ({ line }) => {
        started.push(line);
        await gates.get(line)?.passed;
        return { count: started.length };
      },
    }));
    const serial = await host.get(Serial, { name: "x" });
    const calls = ["a", "b", "c"].map((line) => serial.append({ line }));
    await clock.settle();
    expect(started).toEqual(["a"]);
    gates.get("a")?.open();
    await clock.settle();
    expect(started).toEqual(["a", "b"]);
    for (const each of gates.values()) each.open();
    expect((await Promise.all(calls)).map(({ count }) => count)).toEqual([1, 2, 3]);
    await host.close();
  });
});

describe("a plain host", () => {
  it("has no transaction", async () => {
    const { host, errors } = made();
    const notebooks = new Notebooks(host);
    notebooks.onAdd = (_, context) => context.transaction(() => undefined);
    const notes = await host.get(Notebook, { session: "S1" }, { variant: "editor" });
    await expect(notes.add({ text: "milk" })).rejects.toEqual(
      failing({ code: Code.Internal, outcome: "unknown" }),
    );
    expect(errors).toHaveLength(1);
    await host.close();
  });

  it("hands its commands to whoever runs them in its place", async () => {
    const ran: string[] = [];
    const { host } = made({
      run: async (command) => {
        ran.push(`${command.type.$service.name} ${command.call.member} ${command.key}`);
        const output = command.definition.method.output;
        return { result: { reply: create(output, { id: 9 }) }, mark: "ran", repeat: true };
      },
    });
    const notebooks = new Notebooks(host);
    const notes = await host.get(Notebook, { session: "S1" }, { variant: "editor" });
    await expect(notes.add({ text: "milk" })).resolves.toMatchObject({ id: 9 });
    const { key } = keyedParams(Notebook.$params, { session: "S1" });
    expect(ran).toEqual([`NotebookService add ${key}`]);
    expect(notebooks.calls).toEqual([]);
    await host.close();
  });
});

describe("somebody elsewhere who holds", () => {
  const namesIn = (states: Binding["states"]): readonly string[] =>
    stateNames(Notebook).filter((name) => states.get(name) !== undefined);

  it("is bound anew when its grants change, and refused when it has none", async () => {
    const { host, clock } = made();
    new Notebooks(host, {
      lingerMs: 0,
      variant: ({ grants }) =>
        grants.includes("write") ? "editor" : grants.includes("read") ? "reader" : undefined,
    });
    const heard: string[] = [];
    const holder: Holder = {
      loading: () => void heard.push("loading"),
      bound: (binding: Binding) =>
        void heard.push(`${binding.variant.name}: ${namesIn(binding.states).join()}`),
      failed: ({ cause }) => void heard.push(`failed ${Code[cause.code]}`),
      changed: (member, change) => void heard.push(`${member} ${change.version}`),
    };
    const inside = insideOf(host);
    expect(inside.definition("test.objects.v1.NotebookService")).toBe(Notebook);
    const caller = (...grants: string[]): { by: string; grants: string[] } => ({ by: "rita", grants });
    const request = { type: Notebook, ...keyedParams(Notebook.$params, { session: "S1" }) };
    const holding = inside.acquire({ ...request, caller: caller("read"), session: undefined }, holder);
    holding.open();
    await clock.settle();
    holding.regranted(caller("read", "more"));
    holding.regranted(caller("write"));
    holding.regranted(caller());
    await clock.settle();
    expect(heard).toEqual([
      "loading",
      "reader: entries,title",
      "loading",
      "editor: entries,title",
      "loading",
      "failed PermissionDenied",
    ]);
    await host.close();
  });
});

describe("a state that changes while its holders are told", () => {
  it("comes to each in order, each version once", async () => {
    const { host, clock } = made();
    const notebooks = new Notebooks(host);
    const notes = await host.get(Notebook, { session: "S1" }, { variant: "editor" });
    const title: Member<MessageShape<(typeof Notebook)["title"]["method"]["output"]>> = notes.title;
    const heard: string[] = [];
    title.subscribe(({ text }) => {
      heard.push(text);
      if (text === "a") notebooks.last.title.update((draft) => void (draft.text = "b"));
    });
    const late: string[] = [];
    title.subscribe(({ text }) => {
      if (text !== "a") return;
      const other = host.hold(Notebook, { session: "S1" });
      other.title.subscribe((value) => late.push(value.text));
      late.push(`begins at ${other.title.value.text}`);
    });
    notebooks.last.title.update((draft) => void (draft.text = "a"));
    await clock.settle();
    expect(heard).toEqual(["a", "b"]);
    expect(late).toEqual(["begins at b"]);
    await host.close();
  });
});
