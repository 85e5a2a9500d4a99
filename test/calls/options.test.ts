import {
  Code,
  ConnectError,
  createContextKey,
  createContextValues,
  createRouterTransport,
} from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { callWorld } from "../support/call-world.ts";
import { fault, hang } from "../support/scripted-http.ts";

describe("Connect's own call options", () => {
  it("headers go with every try", async () => {
    await using world = callWorld({ session: "s1" });
    world.http.next(fault("cut"));
    await world.settled(world.client.read({}, { headers: [["x-mine", "1"]] }));
    for (const { header } of world.http.requests) {
      expect(header.get("x-mine")).toBe("1");
      expect(header.get("holdfast-session")).toBe("s1");
    }
  });

  it("onHeader and onTrailer hear of the reply alone", async () => {
    await using world = callWorld();
    world.http.next(
      world.answers.error(Code.Unavailable),
      world.answers.ok({}, { "x-a": "1", "trailer-x-b": "2" }),
    );
    const heard: (string | null)[] = [];
    await world.settled(
      world.client.read(
        {},
        {
          onHeader: (header) => heard.push(header.get("x-a")),
          onTrailer: (trailer) => heard.push(trailer.get("x-b")),
        },
      ),
    );
    expect(heard).toEqual(["1", "2"]);
  });

  it("contextValues reach interceptors, which work around each try", async () => {
    const key = createContextKey("none");
    const seen: string[] = [];
    await using world = callWorld({
      interceptors: [
        (next) => (request) => {
          seen.push(request.contextValues.get(key));
          request.header.set("x-tries", `${seen.length}`);
          return next(request);
        },
      ],
    });
    world.http.next(fault("cut"));
    await world.settled(world.client.add({}, { contextValues: createContextValues().set(key, "mine") }));
    expect(seen).toEqual(["mine", "mine"]);
    expect(world.http.requests.map(({ header }) => header.get("x-tries"))).toEqual(["1", "2"]);
  });

  it("a signal ends the call in a wait too", async () => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unavailable, { header: { "retry-after": "20" } }));
    const abort = new AbortController();
    const call = world.client.read({}, { signal: abort.signal });
    await world.clock.advance(1_000);
    abort.abort();
    await world.failure(call);
    expect(world.clock.monotonic()).toBe(1_000);
  });
});

describe("an interceptor of the program", () => {
  it.each([new Error("broken"), new ConnectError("mine", Code.PermissionDenied)])(
    "that throws before the request ends the call: not run",
    async (thrown) => {
      await using world = callWorld({
        interceptors: [
          () => () => {
            throw thrown;
          },
        ],
      });
      const error = await world.failure(world.client.add({}), 0);
      expect(error).toMatchObject({ reason: "PROGRAM_FAILED", outcome: "not-run", cause: thrown });
      expect(world.link.state.value.kind).toBe("idle");
    },
  );

  it("that throws after the answer ends the call: unknown", async () => {
    await using world = callWorld({
      interceptors: [
        (next) => async (request) => {
          await next(request);
          throw new Error("broken");
        },
      ],
    });
    const error = await world.failure(world.client.add({}), 0);
    expect(error).toMatchObject({ reason: "PROGRAM_FAILED", outcome: "unknown" });
  });

  it("that hangs before the request is cut by the budget: not run", async () => {
    await using world = callWorld({ interceptors: [() => () => new Promise(() => undefined)] });
    const error = await world.failure(world.client.add({}, { timeoutMs: 25_000 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "not-run" });
  });
});

describe("a transport that the program gives", () => {
  it("sends each try, and an error is the server's only with its header", async () => {
    let round = 0;
    const transport = createRouterTransport(({ service }) => {
      service(TallyService, {
        add: (_, context) => {
          round += 1;
          context.responseHeader.set("holdfast-server", "1");
          if (round === 1) throw new ConnectError("foreign", Code.PermissionDenied);
          if (round === 2) {
            throw new ConnectError("no", Code.NotFound, {
              "holdfast-server": "1",
              "holdfast-settled": "refused",
            });
          }
          return { total: 3n };
        },
      });
    });
    await using world = callWorld({ transport });
    expect(await world.failure(world.client.add({}))).toMatchObject({
      code: Code.NotFound,
      outcome: "refused",
      tries: 2,
    });
    expect((await world.settled(world.client.add({}))).total).toBe(3n);
    expect(world.http.openedCount).toBe(0);
  });

  it("may hang: the try is cut, and no probe is sent", async () => {
    let round = 0;
    const transport = createRouterTransport(({ service }) => {
      service(TallyService, {
        read: (_, context) => {
          round += 1;
          if (round === 1) return new Promise<never>(() => undefined);
          context.responseHeader.set("holdfast-server", "1");
          return {};
        },
      });
    });
    await using world = callWorld({ transport });
    await world.settled(world.client.read({}));
    expect(round).toBe(2);
    expect(world.http.probes).toEqual([]);
  });
});

it("an outage through a link's own clients leaves hanging requests cut", async () => {
  await using world = callWorld();
  world.http.otherwise = () => hang();
  await world.failure(world.client.read({}, { timeoutMs: 30_000 }));
  expect(world.http.underWayCount).toBe(0);
});
