import { expect, test } from "vitest";
import { Tally } from "../test/gen/test/v1/tally_holdfast.ts";
import { TallyService } from "../test/gen/test/v1/tally_pb.ts";
import { tallyHandlers } from "../test/support/tally-server.ts";
import { createServer } from "./index.ts";

const handlers = tallyHandlers({ total: 0n, runs: 0 });

test("a missing handler is named at once", () => {
  const { read, addOnlyWithId, addAtMostOnce, nudge, beat, chat, sum } = handlers;
  const rest = { read, addOnlyWithId, addAtMostOnce, nudge, beat, chat, sum };
  // @ts-expect-error two handlers are missing
  expect(() => createServer().implement(Tally, rest)).toThrow("TallyService lacks a handler for add, follow");
});

test("a service is implemented once", () => {
  const server = createServer().implement(Tally, handlers);
  expect(() => server.implement(Tally, handlers)).toThrow("test.v1.TallyService is implemented already");
});

test("a service of a _pb file is no definition, and the error says what is", () => {
  // @ts-expect-error a service's descriptor is no definition
  expect(() => createServer().implement(TallyService, handlers)).toThrow("_holdfast.ts");
});

test("after listening it is too late", async () => {
  const server = createServer();
  await server.listen({ host: "127.0.0.1" });
  expect(() => server.implement(Tally, handlers)).toThrow("before listen");
  await server.close();
});

test("a limit that is none, and one that there is not, are mistakes that are named", () => {
  expect(() => createServer({ limits: { runningMost: 0 } })).toThrow("limits.runningMost is 0");
  // @ts-expect-error there is no such limit
  expect(() => createServer({ limits: { runingMost: 5 } })).toThrow('no limit "runingMost"');
});

test("a port that is taken is said with its mend", async () => {
  const server = createServer();
  const { port } = await server.listen({ host: "127.0.0.1" });
  await expect(server.listen({ host: "127.0.0.1", port })).rejects.toThrow("another program listens there");
  await server.close();
});
