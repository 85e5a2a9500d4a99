import { expect, it } from "vitest";
import { FollowResponseSchema } from "../../test/gen/test/v1/tally_pb.ts";
import { nextTurn } from "../../runtime/base/turn.ts";
import { IteratedSource } from "./iterated-source.ts";

const itemCountMost = 10_000;

it("leaves the turn to others when its items never have to wait", async () => {
  let endedCount = 0;
  async function* endless(): AsyncGenerator<{ number: bigint }> {
    try {
      for (let number = 0n; ; number += 1n) yield { number };
    } finally {
      endedCount += 1;
    }
  }
  const source = new IteratedSource({
    schema: FollowResponseSchema,
    restarted: false,
    at: undefined,
    items: endless(),
  });
  let turned = false;
  nextTurn(() => (turned = true));
  let itemCount = 0;
  await new Promise<void>((resolve) => {
    const give = (): void => {
      for (let taken = source.take(); taken.kind === "items"; taken = source.take()) itemCount += 1;
      if (turned || itemCount >= itemCountMost) resolve();
      else source.wait(give);
    };
    give();
  });
  expect(turned).toBe(true);
  source.close();
  await new Promise<void>((resolve) => nextTurn(resolve));
  expect(endedCount).toBe(1);
});
