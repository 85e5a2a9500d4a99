import { create, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { HeldMember } from "./member.ts";

function waited() {
  let awakeCount = 0;
  const member = new HeldMember("entries", {
    reading: () => ({ kind: "none" }),
    notReady: () => new Error("not ready"),
    awake() {
      awakeCount += 1;
      let cancelled = false;
      return {
        cancel() {
          if (!cancelled) awakeCount -= 1;
          cancelled = true;
        },
      };
    },
  });
  return { member, awakeCount: () => awakeCount };
}

const value = (): Message => create(EmptySchema);

describe("a loop over a state keeps its program alive while it waits, and no longer:", () => {
  it("until a value comes, and again at the next wait", async () => {
    const { member, awakeCount } = waited();
    const loop = member[Symbol.asyncIterator]();
    expect(awakeCount()).toBe(0);
    for (let round = 0; round < 2; round += 1) {
      const step = loop.next();
      expect(awakeCount()).toBe(1);
      member.offer(value());
      expect(awakeCount()).toBe(0);
      await step;
    }
  });

  it("until the last of several reads has its value", () => {
    const { member, awakeCount } = waited();
    const loop = member[Symbol.asyncIterator]();
    void loop.next();
    void loop.next();
    member.offer(value());
    expect(awakeCount()).toBe(1);
    member.offer(value());
    expect(awakeCount()).toBe(0);
  });

  it.each<[string, (member: HeldMember, loop: AsyncIterator<Message, undefined>) => unknown]>([
    ["the state fails", (member) => member.fail(new Error("no"))],
    ["the reference is released", (member) => member.released(new Error("released"))],
    ["the variant lacks it", (member) => member.lost()],
    ["the loop is left", (_, loop) => loop.return?.()],
  ])("until %s", async (_, happens) => {
    const { member, awakeCount } = waited();
    const loop = member[Symbol.asyncIterator]();
    const step = loop.next().catch(() => undefined);
    expect(awakeCount()).toBe(1);
    happens(member, loop);
    await step;
    expect(awakeCount()).toBe(0);
  });
});
