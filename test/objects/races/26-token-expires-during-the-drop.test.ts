import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes, outcomeOf } from "../suite.ts";
import { serverWorlds } from "../world.ts";

// Two hosts have no sign-in: whoever accepts a wire says who is at its other end, for as long as it lives.
it.each(serverWorlds)(
  "in $name: a token that expires between the drop and the reconnect is renewed once, then all is held again",
  async ({ create }) => {
    let good = "first";
    let refreshCount = 0;
    const asked: (string | undefined)[] = [];
    await using world = await create({
      server: {
        authenticate: ({ token }) => {
          asked.push(token);
          if (token !== good) throw new ConnectError("the token has expired", Code.Unauthenticated);
          return { by: "rita" };
        },
      },
      client: {
        token: ({ rejected }) => {
          if (rejected !== undefined) refreshCount += 1;
          return rejected === undefined ? "first" : good;
        },
      },
    });
    new Notebooks(world.provider);
    const notes = holdNotes(world);
    await world.settle();
    expect(notes.$state.value.kind).toBe("live");
    await world.link.drop();
    good = "second";
    const waits = notes.add({ text: "milk" });
    await world.link.connect();
    await world.clock.advance(2_000);
    expect(notes.$state.value.kind).toBe("live");
    expect(await outcomeOf(world, waits)).toMatchObject({ id: 1 });
    expect(refreshCount).toBe(1);
    expect(asked).toEqual(["first", "first", "second"]);
  },
);
