/** Answers of somebody else to a command that is sent at most once: they say nothing of whether it ran. */
import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { callWorld } from "../support/call-world.ts";
import { plainOk } from "../support/scripted-http.ts";

it("a well-formed refusal without our header, before our server has shown itself, leaves the outcome unknown", async () => {
  await using world = callWorld();
  world.http.next(world.answers.error(Code.NotFound, { ours: false }));
  const error = await world.failure(world.client.addAtMostOnce({}));
  expect(error).toMatchObject({ reason: "NOT_HOLDFAST", outcome: "unknown", tries: 1 });
});

it("a success without our header is no reply", async () => {
  await using world = callWorld();
  world.http.next(plainOk());
  const error = await world.failure(world.client.addAtMostOnce({}));
  expect(error).toMatchObject({ reason: "NOT_HOLDFAST", outcome: "unknown", tries: 1 });
});

it("a refusal with our header and without a mark leaves the outcome unknown", async () => {
  await using world = callWorld();
  world.http.next(world.answers.error(Code.NotFound));
  expect(await world.failure(world.client.addAtMostOnce({}))).toMatchObject({ outcome: "unknown", tries: 1 });
});
