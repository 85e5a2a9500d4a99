import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ConnectionFault } from "../../runtime/base/connection-fault.ts";
import type { QueryDefinition } from "../../runtime/base/definition.ts";
import { headerNames } from "../../runtime/call/headers.ts";
import { AddRequestSchema, AddResponseSchema, TallyService } from "../gen/test/v1/tally_pb.ts";
import { callWorld, positionOf } from "../support/call-world.ts";
import { after, fault, hang, type Step } from "../support/scripted-http.ts";

/** The same answer, whose body breaks off. */
function cutBody(step: Step): Step {
  if (step.kind !== "answer") throw new TypeError("only an answer has a body");
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    throw new ConnectionFault("cut", "cut in the body", { sent: true });
  })();
  return { ...step, response: { ...step.response, body } };
}

describe("every try of a once-command", () => {
  it("carries the same ID, number and first sending, and counts itself", async () => {
    await using world = callWorld();
    world.http.next(fault("cut"), world.answers.error(Code.Unavailable), hang());
    await world.settled(world.client.add({ amount: 3n }));
    const tries = world.http.requests.map(positionOf);
    expect(tries.map(({ tries: t }) => t)).toEqual([1, 2, 3, 4]);
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1);
    expect(new Set(tries.map(({ lane }) => lane)).size).toBe(1);
    expect(tries.map(({ seq }) => seq)).toEqual([1, 1, 1, 1]);
    expect(new Set(world.http.requests.map(({ body }) => body.toString())).size).toBe(1);
  });

  it("tells its age until the server's time is known, and from then on its first sending by that", async () => {
    await using world = callWorld();
    world.http.next(hang(), fault("cut"), world.answers.error(Code.Unavailable));
    await world.settled(world.client.add({}));
    const [first, second, third, fourth] = world.http.requests.map((seen) => positionOf(seen).firstSent);
    expect(first).toEqual({ agoMs: 0 });
    // A probe between the first two brought the server's time: the first sending, never a later instant.
    const start = Math.round(world.clock.now() - world.clock.monotonic());
    expect("serverMs" in second! && second.serverMs).toBeLessThanOrEqual(start);
    expect("serverMs" in second! && second.serverMs).toBeGreaterThanOrEqual(start - 1);
    expect(third).toEqual(second);
    expect(fourth).toEqual(second);
  });

  it("tells its age in all tries while no answer of the server has come", async () => {
    await using world = callWorld();
    world.http.probe = () => world.answers.http(404, "text/html", "");
    world.http.next(fault("cut"), after(500, fault("cut")));
    await world.settled(world.client.add({}));
    const [, second, third] = world.http.requests;
    expect(positionOf(second).firstSent).toEqual({ agoMs: Math.ceil(second!.at) });
    expect(positionOf(third).firstSent).toEqual({ agoMs: Math.ceil(third!.at) });
  });

  it("is not moved by this machine's wall clock", async () => {
    await using world = callWorld();
    await world.settled(world.client.read({}));
    const serverNow = world.clock.now();
    world.clock.jumpWall(48 * 3_600_000);
    world.http.next(hang());
    const call = world.client.add({});
    await world.clock.advance(100);
    world.clock.jumpWall(-96 * 3_600_000);
    await world.settled(call);
    for (const seen of world.http.requests.slice(1)) {
      expect(positionOf(seen).firstSent).toEqual({ serverMs: serverNow });
    }
  });

  it("sends the request as it was when the call was made, also its inner parts", async () => {
    await using world = callWorld();
    const request = create(AddRequestSchema, { amount: 1n, text: "before" });
    world.http.next(fault("cut"));
    const call = world.client.add(request);
    request.text = "after";
    await world.settled(call);
    const inner = { kind: "query", method: { ...TallyService.method.add, input: AddResponseSchema } };
    const definition = inner as unknown as QueryDefinition<
      typeof AddResponseSchema,
      typeof AddResponseSchema
    >;
    const at = create(AddResponseSchema, { at: { seconds: 1n } }).at!;
    world.http.next(fault("cut"));
    const second = world.link.call(definition, { at });
    at.seconds = 2n;
    await world.settled(second);
    const [a, b, c, d] = world.http.requests.map(({ body }) => body.toString());
    expect(a).toContain("before");
    expect(b).toBe(a);
    expect(d).toBe(c);
    expect(c).toContain("\x08\x01");
  });
});

describe("the lane of a link", () => {
  it("numbers its commands, and says up to where their outcomes are in the client's hands", async () => {
    await using world = callWorld();
    world.http.next(after(1_000, world.answers.ok()), world.answers.ok(), world.answers.ok());
    const slow = world.client.add({});
    await world.clock.advance(1);
    await world.settled(world.client.add({}), 100);
    await world.settled(world.client.addAtMostOnce({}), 100);
    await world.settled(slow);
    await world.settled(world.client.add({}));
    const places = world.http.requests.map(positionOf).map(({ seq, settled }) => [seq, settled]);
    expect(places).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 3],
    ]);
  });

  it("takes a failed command for settled: no try of it will be sent any more", async () => {
    await using world = callWorld();
    world.http.next(hang());
    await world.failure(world.client.add({}, { timeoutMs: 100 }));
    await world.settled(world.client.add({}));
    expect(positionOf(world.http.requests.at(-1))).toMatchObject({ seq: 2, settled: 1 });
  });

  it("gives no number to a command that was never sent", async () => {
    await using world = callWorld();
    await world.failure(world.client.add({}, { signal: AbortSignal.abort() }));
    await world.settled(world.client.add({}));
    expect(positionOf(world.http.requests[0])).toMatchObject({ seq: 1, settled: 0 });
  });

  it("is another one for each link", async () => {
    await using world = callWorld({ account: "a" });
    const other = world.another({ account: "b" });
    await world.settled(Promise.all([world.client.add({}), other.client.add({})]));
    const [a, b] = world.http.requests.map(positionOf);
    expect(a!.lane).not.toBe(b!.lane);
    expect(a!.id).not.toBe(b!.id);
  });

  it("has 2,048 commands under way at most; more wait in their order, inside their budgets", async () => {
    await using world = callWorld();
    world.http.otherwise = () => after(1_000, world.answers.ok());
    const calls = Array.from({ length: 2_050 }, (_, at) => world.client.add({ amount: BigInt(at) }));
    const late = world.client.add({}, { timeoutMs: 500 });
    const query = world.client.read({});
    await world.clock.advance(10);
    expect(world.http.underWayCount).toBe(2_049);
    const error = await world.failure(late);
    expect(error).toMatchObject({
      reason: "BUDGET_ENDED",
      outcome: "not-run",
      progress: "waiting",
      tries: 0,
    });
    await world.settled(Promise.all([...calls, query]));
    expect(world.http.requests.slice(-2).map((seen) => positionOf(seen).seq)).toEqual([2_049, 2_050]);
  }, 20_000);
});

describe("whose command it is", () => {
  it("goes with every repeat as the tag of the first try's caller", async () => {
    await using world = callWorld({ token: () => "anna" });
    world.http.next(
      world.answers.error(Code.Unavailable, { header: { [headerNames.caller]: "tag-of-anna" } }),
      world.answers.ok({}, { [headerNames.caller]: "tag-of-anna" }),
      fault("cut"),
    );
    await world.settled(world.client.add({}));
    await world.settled(world.client.add({}));
    const tags = world.http.requests.map(({ header }) => header.get(headerNames.for));
    // The first try of a call says nothing: it is what decides whose call it is.
    expect(tags).toEqual([null, "tag-of-anna", null, "tag-of-anna"]);
  });

  it("stays the first caller's when another person signs in between two tries", async () => {
    let who = "anna";
    await using world = callWorld({ token: () => who });
    const tagged = (name: string) => ({ [headerNames.caller]: `tag-of-${name}` });
    world.http.next(world.answers.ok({}, tagged("anna")), fault("cut"));
    await world.settled(world.client.add({}));
    const call = world.client.add({});
    await world.clock.advance();
    who = "ben";
    world.link.signIn();
    world.http.next(world.answers.reason("CALLER_CHANGED", { mark: "unknown" }));
    const error = await world.failure(call);
    expect(error).toMatchObject({ reason: "CALLER_CHANGED", outcome: "unknown" });
    const last = world.http.requests.at(-1)!;
    expect(last.header.get("authorization")).toBe("Bearer ben");
    // Also a server of another epoch, which cannot tell whose tag it is, must not take the call for Ben's.
    expect(last.header.get(headerNames.for)).toBe("tag-of-anna!");
    await world.settled(world.client.add({}));
    expect(world.http.requests.at(-1)!.header.get(headerNames.for)).toBeNull();
  });

  it("is nobody's to say when no answer has named its caller and another person may have signed in", async () => {
    let who = "anna";
    await using world = callWorld({ token: () => who });
    world.http.next(fault("cut"));
    const call = world.client.add({});
    await world.clock.advance();
    who = "ben";
    world.link.signIn();
    const error = await world.failure(call);
    expect(error).toMatchObject({ reason: "CALLER_CHANGED", outcome: "unknown", tries: 1 });
    expect(world.http.requests.map(({ header }) => header.get("authorization"))).toEqual(["Bearer anna"]);
    await world.settled(world.client.add({}));
    expect(world.http.requests.at(-1)!.header.get("authorization")).toBe("Bearer ben");
  });

  it("stays its caller's over a fresh token of the same sign-in", async () => {
    let number = 0;
    await using world = callWorld({ token: () => `anna-${(number += 1)}` });
    world.http.next(fault("cut"));
    await world.settled(world.client.add({}));
    expect(world.http.requests.map(({ header }) => header.get("authorization"))).toEqual([
      "Bearer anna-1",
      "Bearer anna-2",
    ]);
  });

  it("goes on under another sign-in when it has certainly not run", async () => {
    let who = "anna";
    await using world = callWorld({ token: () => who });
    world.http.next(fault("cut", false));
    const call = world.client.add({});
    await world.clock.advance();
    who = "ben";
    world.link.signIn();
    await world.settled(call);
    expect(world.http.requests.at(-1)!.header.get("authorization")).toBe("Bearer ben");
  });

  it("is learnt from the head of an answer whose body is cut off", async () => {
    await using world = callWorld({ token: () => "anna" });
    const whole = world.answers.ok({}, { [headerNames.caller]: "tag-of-anna" });
    world.http.next(cutBody(whole));
    await world.settled(world.client.add({}));
    expect(world.http.requests.map(({ header }) => header.get(headerNames.for))).toEqual([
      null,
      "tag-of-anna",
    ]);
  });

  it("is said by the first answer, and not by a refusal of somebody else", async () => {
    let who = "anna";
    await using world = callWorld({ token: () => who });
    const tagged = (name: string) => ({ [headerNames.caller]: `tag-of-${name}` });
    world.http.next(world.answers.error(Code.Unavailable, { header: tagged("anna") }));
    const call = world.client.add({});
    await world.clock.advance();
    who = "ben";
    world.link.signIn();
    world.http.next(world.answers.error(Code.Unavailable, { header: tagged("ben") }));
    await world.settled(call);
    const tags = world.http.requests.map(({ header }) => header.get(headerNames.for));
    expect(tags).toEqual([null, "tag-of-anna!", "tag-of-anna!"]);
  });

  it("is a secret of the link while nobody is signed in, and of no other one", async () => {
    await using world = callWorld({ account: "a" });
    const other = world.another({ account: "b" });
    const signedIn = world.another({ account: "c", token: () => "t" });
    world.http.next(fault("cut"));
    await world.settled(world.client.add({}));
    await world.settled(other.client.add({}));
    await world.settled(signedIn.client.add({}));
    const [first, second, others, none] = world.http.requests.map(({ header }) =>
      header.get(headerNames.anon),
    );
    expect(first).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(second).toBe(first);
    expect(others).not.toBe(first);
    expect(none).toBeNull();
  });
});
