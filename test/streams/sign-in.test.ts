import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { SignInGone, type TokenRequest } from "../../runtime/call/sign-in.ts";
import { expectKinds, streamWorld } from "../support/stream-world.ts";

it("says who it is, in hello and in the headers, and asks for a sign within its idle time", async () => {
  await using world = streamWorld({ session: "s-1", build: "b-7", token: () => "t-1" });
  const reader = world.read({ headers: { "x-tenant": "acme" } });
  await world.clock.advance();
  const { hello, header, follow } = world.server.follows[0]!;
  expect(hello).toMatchObject({
    version: 1,
    codec: "msgpack",
    slot: "stream-1",
    generation: 1,
    session: "s-1",
    build: "b-7",
    token: "t-1",
    anon: "",
    idleMs: 45_000,
  });
  expect(header.get("authorization")).toBe("Bearer t-1");
  expect(follow.method).toBe("test.v1.TallyService.Follow");
  expect(follow.headers).toMatchObject([{ name: "x-tenant", value: "acme" }]);
  await reader.stream.close();
});

it("an anonymous one carries the link's secret, and packets of JSON where the link wants them", async () => {
  await using world = streamWorld({ format: "json" });
  const reader = world.read();
  await world.clock.advance();
  world.server.publish(2);
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2]);
  expect(world.server.follows[0]?.hello).toMatchObject({ codec: "json", token: "" });
  expect(world.server.follows[0]?.hello.anon).toMatch(/^[\w-]{16,}$/);
  await reader.stream.close();
});

it("refuses a sign-in of its own among the program's headers", async () => {
  await using world = streamWorld();
  expect(() => world.follow({ headers: { authorization: "Bearer x" } })).toThrow(TypeError);
});

it("the token is asked for at each connect, also while the place that gives it is away", async () => {
  let token: string | undefined = "old";
  const asked: TokenRequest[] = [];
  await using world = streamWorld({
    token: (request) => {
      asked.push(request);
      if (token === undefined) throw new Error("no network");
      return token;
    },
  });
  const reader = world.read();
  await world.clock.advance();
  token = undefined;
  world.server.meet("refuse");
  world.server.cutAll();
  await world.clock.advance(90_000);
  world.server.publish(3);
  token = "new";
  world.server.meet("serve");
  await world.clock.advance(60_000);
  expect(reader.got).toEqual([1, 2, 3]);
  expect(world.server.follows.map(({ hello }) => hello.token)).toEqual(["old", "new"]);
  expect(reader.end).toBeUndefined();
  await reader.stream.close();
});

it("a token that the server refuses is replaced once, by another", async () => {
  const tokens = ["stale", "fresh"];
  const asked: (string | undefined)[] = [];
  await using world = streamWorld({
    token: ({ rejected }) => {
      asked.push(rejected);
      return tokens.shift();
    },
  });
  world.server.meet("unauthenticated", "serve");
  const reader = world.read();
  await world.clock.advance();
  expect(asked).toEqual([undefined, "stale"]);
  expect(reader.stream.state.value.kind).toBe("open");
  expectKinds(world.states, ["idle", "up"]);
  await reader.stream.close();
});

it("a second refusal of the sign-in is the stream's end, and not the link's", async () => {
  await using world = streamWorld({ token: () => "t" });
  world.server.meet("unauthenticated");
  const reader = world.read();
  await world.clock.advance(5_000);
  expect(reader.end).toMatchObject({ code: Code.Unauthenticated, outcome: "refused" });
  expect(world.server.follows.length).toBe(2);
  expect(world.link.state.value.kind).toBe("up");
});

it("a sign-in that is gone refuses the link and ends the stream with its reason", async () => {
  let gone = false;
  await using world = streamWorld({
    token: () => {
      if (gone) throw new SignInGone("signed out");
      return "t";
    },
  });
  const reader = world.read();
  await world.clock.advance();
  gone = true;
  world.server.cutAll();
  await world.clock.advance();
  expect(reader.end).toMatchObject({ reason: "SIGN_IN_GONE" });
  expect(world.link.state.value.kind).toBe("refused");
  gone = false;
  world.link.signIn();
  const again = world.read();
  await world.clock.advance();
  expect(again.stream.state.value.kind).toBe("open");
  expect(world.link.state.value.kind).toBe("up");
  await again.stream.close();
});

it("a build that is not served refuses the link", async () => {
  await using world = streamWorld({ build: "b-1" });
  world.server.meet(serverError("BUILD_REFUSED"));
  const reader = world.read();
  await world.clock.advance();
  expect(reader.end).toMatchObject({ reason: "BUILD_REFUSED" });
  expect(world.link.state.value).toMatchObject({ kind: "refused", reason: "BUILD_REFUSED" });
});
