/** The server of the simulation: real handlers over a real journal, in a simulated process. */
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import { type Clock, sleep } from "../../runtime/base/clock.ts";
import type { CommandContext } from "../../runtime/base/handlers.ts";
import type { Random } from "../../runtime/base/random.ts";
import type { ServedAnswer, ServedRequest, SimulatedServer } from "../../runtime/testing/simulated-host.ts";
import type { SimulatedProcess } from "../../runtime/testing/simulated-process.ts";
import {
  createServer,
  type GoneSession,
  type Server,
  type ServerOptions,
  type SessionGoneContext,
  type Store,
  tryAgain,
} from "../../server/index.ts";
import { createCors } from "../../server/http/cors.ts";
import { answerUnknownPath } from "../../server/http/unknown-path.ts";
import type { BuildsPlan } from "./build-plan.ts";
import type { Schema } from "./builds.ts";
import type { ListsHandlers } from "./gen/test/simulation/v1/lists_holdfast.ts";
import type { History } from "./history.ts";
import type { Ledger, Stage } from "./ledger.ts";
import { serveShelves, type ShelvesParts } from "./shelves-server.ts";

export interface ListsServerParts {
  readonly store: Store<Stage | undefined>;
  readonly ledger: Ledger;
  readonly history: History;
  readonly random: Random;
  /** Who a token stands for. Throws for one that does not count any more. */
  readonly personOf: (token: string | undefined) => string | undefined;
  /** How this run of a handler fails; undefined: it does not. */
  readonly failureOf: (key: string) => "before" | "after" | "again" | undefined;
  /** Whether clients give signs of life. */
  readonly beats: boolean;
  /** Ms for which a sign-in counts; undefined: for ever. */
  readonly signInMs: number | undefined;
  /** Of its own build. */
  readonly schema: Schema;
  /** Undefined: nobody says which build it is. */
  readonly builds: BuildsPlan | undefined;
  /** What the objects need; undefined: none are served. */
  readonly shelves: Pick<ShelvesParts, "startOf" | "writers"> | undefined;
}

export interface ListsServer extends SimulatedServer {
  readonly server: Server;
}

export const anonymous = "nobody";

export function startListsServer(process: SimulatedProcess, parts: ListsServerParts): ListsServer {
  const { clock } = process;
  const { schema } = parts;
  const gone = async ({ name, caller }: GoneSession, { transaction }: SessionGoneContext): Promise<void> => {
    await transaction(() => undefined);
    const session = `${name} of ${caller.by ?? anonymous}`;
    parts.history.add({ kind: "gone", session, server: process.name });
  };
  const server = createServer({
    clock,
    random: parts.random,
    store: parts.store,
    ...buildOf(process, parts),
    ...(parts.beats ? { onSessionGone: (session, ctx) => gone(session, ctx) } : {}),
    authenticate: ({ token, via }) => {
      const by = parts.personOf(token);
      if (by === undefined) return undefined;
      if (via === "wire") parts.history.add({ kind: "signedIn", by, server: process.name });
      return parts.signInMs === undefined ? { by } : { by, until: clock.now() + parts.signInMs };
    },
  });
  server.implement(schema.Lists, handlersOf(process, server, parts), { send: { rerun: true } });
  if (parts.shelves !== undefined) serveShelves(server, process, { ...parts, ...parts.shelves });
  const router = createConnectRouter();
  server.routes(router);
  return {
    server,
    handlers: router.handlers,
    accept: (wire, from) => server.accept(wire, from),
    otherwise: (request) => unknownPath(request, clock),
  };
}

function buildOf(
  { name }: SimulatedProcess,
  { schema: { build }, builds, history }: ListsServerParts,
): Pick<ServerOptions, "build"> {
  if (builds === undefined) return {};
  history.add({ kind: "program", name, build });
  const refuses = builds.refusesFirst && build === 2;
  return { build: { id: `${build}.0.0`, ...(refuses ? { accepts: ({ major }) => major === 2 } : {}) } };
}

/** What a port answers where a server has no such rpc. */
function unknownPath({ method, url, header }: ServedRequest, clock: Clock): ServedAnswer {
  const { pathname: path } = new URL(url);
  return answerUnknownPath(
    { method, path, header },
    { cors: createCors(undefined), answerHeaders: () => ({ server: "1", nowMs: Math.floor(clock.now()) }) },
  );
}

type Command = { readonly key: string; readonly thinkMs: number };

function handlersOf(
  process: SimulatedProcess,
  server: Server,
  { ledger, history, failureOf, schema: { Lists, build } }: ListsServerParts,
): ListsHandlers {
  const { clock } = process;
  const runCounts = new Map<string, number>();
  const think = async (key: string, thinkMs: number, ctx: CommandContext): Promise<void> => {
    const from = clock.monotonic();
    if (thinkMs > 0) await sleep(clock, thinkMs, ctx.signal);
    if (!ctx.signal.aborted) return;
    history.add({ kind: "stopped", key, server: process.name, afterMs: clock.monotonic() - from });
    throw tryAgain("told to stop", 100);
  };
  const begin = async ({ key, thinkMs }: Command, ctx: CommandContext): Promise<string> => {
    const by = ctx.caller.by ?? anonymous;
    history.add({ kind: "started", key, callId: ctx.callId ?? "", server: process.name, by });
    await think(key, thinkMs, ctx);
    return by;
  };
  const fail = (key: string, moment: "before" | "after"): void => {
    const failure = failureOf(key);
    if (failure === "again" && moment === "before") throw tryAgain("not now", 100);
    if (failure === moment) throw new Error("the handler fails");
  };
  const effect = ({ key }: Command, ctx: CommandContext, by: string) => ({
    key,
    callId: ctx.callId ?? "",
    by,
    server: process.name,
  });
  const elsewhere = async (request: Command, ctx: CommandContext): Promise<{ by: string }> => {
    const by = await begin(request, ctx);
    fail(request.key, "before");
    ledger.actElsewhere(effect(request, ctx, by));
    fail(request.key, "after");
    if (request.thinkMs > 0) await sleep(clock, request.thinkMs);
    return { by };
  };
  const handlers: ListsHandlers = {
    read: ({ list }) => ({ length: ledger.lengthOf(list) }),
    async append(request, ctx) {
      const by = await begin(request, ctx);
      const note = build === 2 ? { note: request.note } : {};
      if (build === 2)
        history.add({ kind: "noted", key: request.key, note: request.note, server: process.name });
      const runs = (runCounts.get(request.key) ?? 0) + 1;
      runCounts.set(request.key, runs);
      if (request.refuse === 1 || (request.refuse === 3 && runs === 1))
        throw new ConnectError("no", Code.FailedPrecondition);
      fail(request.key, "before");
      const reply = await ctx.transaction((tx, publish) => {
        publish(server.topic(Lists.follow, request.list), { key: request.key, ...note });
        const place = (tx as Stage).append({ ...effect(request, ctx, by), list: request.list });
        if (request.refuse === 2) throw new ConnectError("no, after all", Code.FailedPrecondition);
        fail(request.key, "after");
        return { place, by, ...note };
      });
      history.add({ kind: "published", key: request.key, callId: ctx.callId ?? "", server: process.name });
      return reply;
    },
    async whisper(request, ctx) {
      const by = await begin(request, ctx);
      fail(request.key, "before");
      return ctx.transaction((tx) => {
        (tx as Stage).append({ ...effect(request, ctx, by), list: "whispers" });
        return { by };
      });
    },
    async stamp(request, ctx) {
      const by = await begin(request, ctx);
      return ctx.transaction((tx) => {
        (tx as Stage).append({ ...effect(request, ctx, by), list: "stamps" });
        return { by };
      });
    },
    pay: elsewhere,
    async send(request, ctx) {
      if (ctx.mayHaveRun && ledger.hasActed(ctx.callId ?? "")) return { by: ctx.caller.by ?? anonymous };
      return elsewhere(request, ctx);
    },
    shout: elsewhere,
    poke: () => ({}),
    alive: (_, ctx) => {
      const session = `${ctx.session ?? ""} of ${ctx.caller.by ?? anonymous}`;
      history.add({ kind: "sign", session, server: process.name });
      return {};
    },
    follow: ({ list }, ctx) => ctx.follow(server.topic(Lists.follow, list)),
  };
  if (build === 2) return handlers;
  const first: Partial<ListsHandlers> = { ...handlers };
  delete first.stamp;
  return first as ListsHandlers;
}
