/** Objects' rpcs at their own paths, as any Connect client calls them. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { expect, it } from "vitest";
import { createServer } from "../../server/index.ts";
import { reasonFrom } from "../../runtime/base/errors.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { tallyHandlers } from "../support/tally-server.ts";
import { Drafts } from "./drafts.ts";
import { Draft } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { DraftService, NotebookService } from "./gen/test/objects/v1/notebook_pb.ts";
import { Notebooks } from "./notebooks.ts";

async function started(): Promise<{
  readonly notebooks: Notebooks;
  readonly client: ReturnType<typeof createClient<typeof NotebookService>>;
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const server = createServer();
  const notebooks = new Notebooks({
    serve: (type, factory, options) => void server.serve(type, factory, options),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const client = createClient(NotebookService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
  return { notebooks, client, url, [Symbol.asyncDispose]: () => server.close({ within: 0 }) };
}

const headers = { "holdfast-params": '{"session":"S1"}' };

it("a command and a query hold the object that the header names, for one call each", async () => {
  await using world = await started();
  expect(await world.client.add({ text: "milk" }, { headers })).toMatchObject({ id: 1 });
  expect(await world.client.count({ text: "" }, { headers })).toMatchObject({ count: 1 });
  expect(world.notebooks.activations).toHaveLength(1);
  const other = { "holdfast-params": '{"session":"S2"}' };
  expect(await world.client.count({ text: "" }, { headers: other })).toMatchObject({ count: 0 });
});

it("a command with a call ID runs once, for its object", async () => {
  await using world = await started();
  const once = { ...headers, "holdfast-call": "abcdefghijklmnopqrstuv" };
  expect(await world.client.add({ text: "milk" }, { headers: once })).toMatchObject({ id: 1 });
  expect(await world.client.add({ text: "milk" }, { headers: once })).toMatchObject({ id: 1 });
  expect(world.notebooks.calls).toEqual(["milk"]);
  const elsewhere = { ...once, "holdfast-params": '{"session":"S2"}' };
  await expect(world.client.add({ text: "milk" }, { headers: elsewhere })).rejects.toMatchObject({
    code: Code.InvalidArgument,
  });
});

it("a state's rpc gives the whole value, and again after each change, the newest first", async () => {
  await using world = await started();
  const stop = new AbortController();
  const stream = world.client.title({}, { headers, signal: stop.signal })[Symbol.asyncIterator]();
  expect((await stream.next()).value).toMatchObject({ text: "S1" });
  world.notebooks.last.title.update((draft) => void (draft.text = "a"));
  world.notebooks.last.title.update((draft) => void (draft.text = "b"));
  expect((await stream.next()).value).toMatchObject({ text: "b" });
  stop.abort();
  await expect(stream.next()).rejects.toThrow(ConnectError);
});

it.each([
  ["no JSON", "{"],
  ["another field", '{"sesion":"S1"}'],
  ["another type", '{"session":5}'],
])("params that are %s are BAD_PARAMS", async (_, params) => {
  await using world = await started();
  const refused = await world.client
    .count({ text: "" }, { headers: { "holdfast-params": params } })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: Code.InvalidArgument });
  expect(reasonFrom(refused as ConnectError)).toBe("BAD_PARAMS");
  const title = world.client.title({}, { headers: { "holdfast-params": params } })[Symbol.asyncIterator]();
  await expect(title.next()).rejects.toMatchObject({ code: Code.InvalidArgument });
});

it("an object that is broken answers with its cause, and one that a caller may not hold refuses", async () => {
  await using world = await started();
  world.notebooks.onStart = () => {
    throw new ConnectError("no such notebook", Code.NotFound);
  };
  await expect(world.client.count({ text: "" }, { headers })).rejects.toMatchObject({ code: Code.NotFound });
  const title = world.client.title({}, { headers })[Symbol.asyncIterator]();
  await expect(title.next()).rejects.toMatchObject({ code: Code.NotFound });
});

it("a type that is served after the server listens has paths of its own too, from the server and from its host", async () => {
  const server = createServer();
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1" });
  try {
    new Notebooks({ serve: (type, factory, options) => void server.serve(type, factory, options) });
    const drafts = new Drafts(server.host);
    expect(await createClient(NotebookService, transport).add({ text: "milk" }, { headers })).toMatchObject({
      id: 1,
    });
    const named = { "holdfast-params": '{"name":"a"}' };
    expect(
      await createClient(DraftService, transport).plain({ line: "x" }, { headers: named }),
    ).toMatchObject({
      count: 1,
    });
    expect(drafts.ran).toEqual(["a plain x"]);
  } finally {
    await server.close({ within: 0 });
  }
});

it("a type that is served after the routes are mounted on an adapter of the program's is refused", async () => {
  const server = createServer();
  connectNodeAdapter({ routes: server.routes });
  expect(() => new Drafts(server)).toThrow(
    /serve test.objects.v1.DraftService before the routes are mounted/,
  );
  await server.close();
});

it("a service is implemented or served, not both, and what is meant for the other is said so", async () => {
  const server = createServer();
  new Drafts(server);
  expect(() => server.implement({ ...Tally, $service: DraftService } as never, {})).toThrow(
    /DraftService are served on this server. Serve it as an object or implement it, not both/,
  );
  server.implement(Tally, tallyHandlers({ total: 0n, runs: 0 }));
  const likeTally = { ...Draft, $service: Tally.$service };
  expect(() => server.serve(likeTally as never, () => ({}) as never)).toThrow(
    /is implemented on this server already/,
  );
  expect(() => server.implement(Draft as never, {})).toThrow(/DraftService (are served|is a held object)/);
  expect(() => server.serve(Tally as never, () => ({}) as never)).toThrow(/is a service and no held object/);
  await server.close();
});
