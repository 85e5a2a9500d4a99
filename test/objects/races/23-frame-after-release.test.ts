import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ServerMessageSchema } from "../../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../../runtime/base/clock.ts";
import type { Log } from "../../../runtime/base/log.ts";
import { createHost, type Host } from "../../../runtime/hold/host.ts";
import { wiresBy } from "../../../runtime/link/link-wire.ts";
import { createLinkOf } from "../../../runtime/link/registry.ts";
import { nodePlatform } from "../../../runtime/node/platform.ts";
import { virtualClock } from "../../../runtime/testing/virtual-clock.ts";
import { type CodecName, codecNamed, firstPacket, welcomeMessage } from "../../../runtime/wire/handshake.ts";
import { payloadOf } from "../../../runtime/wire/packet.ts";
import { ServerEnd } from "../../../runtime/wire/server-end.ts";
import { Notebook } from "../gen/test/objects/v1/notebook_holdfast.ts";
import { type Pipe, type PipeEnd, pipes } from "../pipes.ts";
import { recordedLog } from "../world.ts";

/** Who holds: a host to which the test gives its wire, or a link, which opens wires by itself. */
type Who = "a host" | "a link";

/** Who holds, and a provider of which the test writes every message. */
async function written(
  pipe: Pipe,
  codecName: CodecName,
  who: Who,
): Promise<{
  readonly notes: ReturnType<typeof holdOf>;
  readonly provider: ServerEnd;
  readonly heard: string[];
  readonly causes: (Error | undefined)[];
  /** What was logged as a mistake of who holds. */
  readonly errors: readonly string[];
  frame(hold: number): void;
  bind(hold: number): void;
  settle(): Promise<void>;
  close(): Promise<void>;
}> {
  const clock = virtualClock();
  const codec = codecNamed(codecName);
  if (codec === undefined) throw new Error("no codec");
  const heard: string[] = [];
  const causes: (Error | undefined)[] = [];
  const { log, errors } = recordedLog();
  let accepted: (end: ServerEnd) => void = () => undefined;
  const coming = new Promise<ServerEnd>((resolve) => {
    accepted = resolve;
  });
  const end = await pipe.listen((wire) => {
    let made: ServerEnd | undefined;
    wire.onPacket((packet) => {
      if (made !== undefined) {
        made.receive(packet);
        return;
      }
      wire.send(firstPacket(codec, welcomeMessage({ server: "1", nowMs: 1, caller: "", idleMs: 45_000 })));
      made = new ServerEnd({ wire, codec, clock, idleMs: 45_000, otherIdleMs: 45_000 });
      const note =
        (kind: string) =>
        ({ hold }: { readonly hold: number }): void =>
          void heard.push(`${kind} ${hold}`);
      made.take({ hold: note("hold"), release: note("release"), retry: note("retry") });
      made.onClose((cause) => causes.push(cause));
      accepted(made);
    });
    wire.onClose((cause) => made?.gone(cause));
  }, clock);
  const host = await holding(who, end, codecName, { clock, log });
  const notes = holdOf(host);
  const provider = await coming;
  const settle = async (): Promise<void> => {
    for (let count = 0; count < 20; count++) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const say = (kind: object): void => {
    provider.send(create(ServerMessageSchema, { kind: kind as never }));
  };
  return {
    notes,
    provider,
    heard,
    causes,
    errors,
    frame: (hold) =>
      say({
        case: "frame",
        value: { hold, member: 0, change: payloadOf(codec, EmptySchema, create(EmptySchema)) },
      }),
    bind: (hold) => {
      say({ case: "layout", value: { number: 1, type: 1, variant: "editor", members: [] } });
      say({ case: "bound", value: { hold, layout: 1, incarnation: new Uint8Array(16) } });
    },
    settle,
    async close() {
      await host.close();
      await settle();
      await end.close();
    },
  };
}

async function holding(
  who: Who,
  end: PipeEnd,
  codec: CodecName,
  parts: { readonly clock: Clock; readonly log: Log },
): Promise<Pick<Host, "hold" | "close">> {
  if (who === "a host") {
    const host = createHost({ ...parts, connects: true });
    await host.connect(await end.open(), { codec }).opened;
    return host;
  }
  const linkOf = createLinkOf(nodePlatform, []);
  return linkOf("http://127.0.0.1:9", {
    ...parts,
    codec,
    wire: wiresBy(() => end.open()),
    outbox: { atStart: false },
  });
}

// A link's wire opens when something is held.
const holdOf = (host: Pick<Host, "hold">) => host.hold(Notebook, { session: "S1" });

const kinds = (["a host", "a link"] as const).flatMap((who) =>
  (["json", "msgpack"] as const).map((codec) => [who, codec] as const),
);

describe.each(pipes)("over $name", (pipe) => {
  describe.each(kinds)("%s that holds with %s", (who, codec) => {
    it("a frame for a hold that was just given back is dropped, until the provider has let go", async () => {
      const world = await written(pipe, codec, who);
      const { notes } = world;
      await world.settle();
      world.bind(1);
      await world.settle();
      expect(notes.$state.value.kind).toBe("live");
      await notes.$release();
      world.frame(1);
      await world.settle();
      expect(world.heard).toEqual(["hold 1", "release 1"]);
      expect(world.provider.open).toBe(true);
      world.provider.send(create(ServerMessageSchema, { kind: { case: "released", value: { hold: 1 } } }));
      await world.settle();
      expect(world.provider.open).toBe(true);
      world.frame(1);
      await world.settle();
      expect(world.provider.open).toBe(false);
      await world.close();
    });

    it.each([
      ["a frame for a hold that never was", "frame"],
      ["a bound with no loading before it", "bound"],
      ["one value for several holds", "several"],
      ["what is the same for holds that never were", "more"],
    ] as const)("%s closes the wire, and the reference is loading", async (_, what) => {
      const world = await written(pipe, codec, who);
      const { notes } = world;
      await world.settle();
      world.bind(1);
      await world.settle();
      const bound = { hold: 1, layout: 1, incarnation: new Uint8Array(16) };
      if (what === "frame") world.frame(7);
      else {
        if (what !== "bound") {
          const loading = { case: "loading", value: { hold: 1 } } as const;
          world.provider.send(create(ServerMessageSchema, { kind: loading }));
        }
        const more = what === "bound" ? 0 : 2 ** 32 - 1;
        const value = { ...bound, more, unchanged: what === "more" };
        world.provider.send(create(ServerMessageSchema, { kind: { case: "bound", value } }));
      }
      await world.settle();
      expect(world.provider.open).toBe(false);
      expect(notes.$state.value.kind).toBe("loading");
      // It is the provider's fault, and found as one.
      expect(world.errors).toEqual([]);
      await world.close();
    });
  });
});
