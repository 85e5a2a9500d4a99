/**
 * A server: the one place that puts its parts together.
 *
 * Source: design "Server: What a user writes".
 */
import { setMaxListeners } from "node:events";
import type { ConnectRouter, ContextValues, Interceptor } from "@connectrpc/connect";
import { type Clock, systemClock } from "../runtime/base/clock.ts";
import type { DescMessage } from "@bufbuild/protobuf";
import type { ObjectDefinition, ServiceDefinition, StreamDefinition } from "../runtime/base/definition.ts";
import { defaultLimits, type Limits } from "../runtime/base/limits.ts";
import { type Log, silentLog } from "../runtime/base/log.ts";
import { type Random, systemRandom } from "../runtime/base/random.ts";
import type { Soon } from "../runtime/base/soon.ts";
import type { DurableTopic, Topic } from "../runtime/base/topics.ts";
import { formatServerHeader } from "../runtime/call/headers.ts";
import type { Host } from "../runtime/hold/host.ts";
import type { Factory, ServeOptions } from "../runtime/hold/served-type.ts";
import type { Wire } from "../runtime/wire/wire.ts";
import { Admission } from "./admission.ts";
import { type BuildOptions, createBuildGate } from "./build-gate.ts";
import { callerKeys } from "./caller-tag.ts";
import { type Authenticate, signIn } from "./caller.ts";
import { type CloseOptions, Closing } from "./close.ts";
import { dispatch, type DispatchParts, type UnaryCall } from "./dispatch.ts";
import { enter, type EntranceParts, type Guest } from "./entrance.ts";
import { createCors, type CorsOptions } from "./http/cors.ts";
import { FollowRoute } from "./http/follow-route.ts";
import { listen, type ListenAddress, type Listener, type ListenOptions } from "./http/listen.ts";
import type { NodeListener, NodeRequest } from "./http/node-listener.ts";
import { contextValuesOf, createNodeListener } from "./http/node-requests.ts";
import { createRoutes, type RouteParts } from "./http/routes.ts";
import type { UnaryAnswer } from "./http/exchange.ts";
import { UnaryRoute } from "./http/unary-route.ts";
import { createFallback } from "./http/unknown-path.ts";
import type { UpgradeListener } from "./http/upgrade.ts";
import { Implementations, type ServiceOptions } from "./implement.ts";
import { createJournal } from "./journal/journal.ts";
import { memoryStore } from "./store/memory-store.ts";
import { startPurge } from "./store/purge.ts";
import type { Store } from "./store/store.ts";
import type { OnSessionGone } from "./session/farewell.ts";
import { OpenConnections } from "./session/open-connections.ts";
import type { SessionInfo } from "./session/session.ts";
import { Sessions } from "./session/sessions.ts";
import { ServerObjects } from "./objects.ts";
import { Ports } from "./ports.ts";
import { SignsOfLife } from "./signs-of-life.ts";
import { createFollow, openStream } from "./follow.ts";
import { enroll, follow, OpenStreams } from "./streams.ts";
import { Topics } from "./topic/topics.ts";
import type { WireSource } from "./wire/accept.ts";
import { wireStreams } from "./wire/streams.ts";
import { createWires } from "./wires.ts";

export interface ServerOptions {
  /** Where commands that ran are kept. Default: `memoryStore()`, which forgets with the process. */
  readonly store?: Store;
  /** Says who sends a request. Default: everybody is anonymous. */
  readonly authenticate?: Authenticate;
  /** This build, and which builds of the client are served. Default: none, and all. */
  readonly build?: BuildOptions;
  /** Pages of other origins. Default: none may read an answer. */
  readonly cors?: CorsOptions;
  /** What clients can make grow. Default: `defaultLimits`. */
  readonly limits?: Partial<Limits>;
  /** Connect interceptors around every handler, the first outermost. They see requests that were let in. */
  readonly interceptors?: readonly Interceptor[];
  /** Is told once of each session that is gone. Default: nothing is done. */
  readonly onSessionGone?: OnSessionGone;
  /** Ms that an object may take to start, and that its own `get`s and parked calls wait. Default: each type's own, 60 s. */
  readonly readyTimeoutMs?: number;
  /** Whether SIGTERM and SIGINT close the server; a second one ends the process. Default: false. */
  readonly signals?: boolean;
  /** Default: says nothing. */
  readonly log?: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface Server extends AsyncDisposable {
  /**
   * Takes the handlers of a service. Before `listen`, and before the routes are mounted.
   *
   * @param options - what is to be said of single methods: `{ pay: { rerun: true } }`.
   * @throws TypeError for a missing handler, a service that is implemented already, or an option that its method
   * cannot have.
   */
  implement<Handlers>(
    definition: ServiceDefinition<Handlers>,
    handlers: NoInfer<Handlers>,
    options?: ServiceOptions<NoInfer<Handlers>>,
  ): this;
  /**
   * Names a topic of a stream: what handlers publish to, and what `ctx.follow` follows. Costs nothing, so name it
   * wherever it is needed. A topic in memory that nobody has published to or followed for an hour may be dropped; who
   * followed it is then told that it began anew.
   *
   * @param definition - the stream's, such as `Board.tail`; its schema says how many items are kept.
   * @param key - tells the method's topics from each other, such as a thread's ID. Up to 1,024 characters.
   * @param options - `durable`: its items and their numbers are in the store. Default: in memory. Say the same for
   * one key everywhere.
   * @throws TypeError for what is no stream's definition, and no key.
   */
  topic<I extends DescMessage, O extends DescMessage>(
    definition: StreamDefinition<I, O>,
    key: string,
    options?: { readonly durable?: false },
  ): Topic<O>;
  topic<I extends DescMessage, O extends DescMessage>(
    definition: StreamDefinition<I, O>,
    key: string,
    options: { readonly durable: true },
  ): DurableTopic<O>;
  /**
   * Serves a held object: the factory makes one when the first reference to its params is taken.
   *
   * @throws TypeError for what is no object's definition, and for a type that is served already.
   */
  serve<Params extends DescMessage, Ref, Implementation>(
    type: ObjectDefinition<Params, Ref, Implementation>,
    factory: Factory<Params, Implementation>,
    options?: ServeOptions<Params>,
  ): this;
  /** Holds the objects of this server from inside of it, and serves others over wires of the program's own. */
  readonly host: Host;
  /**
   * Opens a port: HTTP/2 without TLS and HTTP/1.1 on one, or TLS with both.
   *
   * @throws Error saying what is wrong with the port.
   */
  listen(options?: ListenOptions): Promise<ListenAddress>;
  /** The rpcs for any Connect adapter: `connectNodeAdapter({ routes: server.routes })`. */
  readonly routes: (router: ConnectRouter) => void;
  /** Answers unknown paths for adapters that take a fallback. */
  readonly fallback: NodeListener;
  /** Tells the server a client's address under connect-node's adapter, as its option of this name. */
  readonly contextValues: (request: NodeRequest) => ContextValues;
  /**
   * Takes WebSockets on an HTTP server of the program's own: `httpServer.on("upgrade", server.upgrade)`. What is not
   * for holdfast's path it refuses, so a program with WebSockets of its own looks at the path before. A server that
   * `listen`s takes them by itself.
   */
  readonly upgrade: UpgradeListener;
  /**
   * Takes a wire of the program's own, such as `messagePortWire(port)` or an end of `memoryPair()`. It says hello like
   * any other.
   *
   * @param from - what `authenticate` is told beside hello's token. Default: no headers, no address.
   */
  accept(wire: Wire, from?: Partial<WireSource>): void;
  /**
   * The clients that are there: those that gave a sign of life, a call or a heartbeat, inside `gone_after`. A list of
   * this moment, with those first that began first.
   */
  sessions(): SessionInfo[];
  /**
   * Ends the open streams and wires of a principal at once, and says how many there were. What it tries next is
   * authorised anew, so let `authenticate` refuse it before.
   *
   * @param by - its name, as `authenticate` gave it.
   */
  revoke(by: string): number;
  /**
   * Stops taking work, tells clients when to come back, lets calls finish, then ends everything. A server that
   * nobody is connected to closes at once; else it takes up to a second more than its calls.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Makes a server.
 *
 * @throws TypeError or RangeError for options that cannot be.
 */
export function createServer(options: ServerOptions = {}): Server {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const log = options.log ?? silentLog;
  const limits = readLimits(options.limits);
  const store: Store = options.store ?? memoryStore({ clock, random });
  const cors = createCors(options.cors);
  const buildGate = createBuildGate(options.build, log);
  const serverHeader = formatServerHeader(options.build?.id);

  const implementations = new Implementations();
  const admission = new Admission({ limits, clock, random });
  const streams = new OpenStreams();
  const shutdown = new AbortController();
  setMaxListeners(0, shutdown.signal); // each request listens to it
  const listeners = new Set<Listener>();
  const ports = new Ports();
  const stopSignals = new AbortController();
  const journal = createJournal({ store, clock, limits, log, onBroken });
  const callerKey = callerKeys(store.facts);
  const purge = startPurge(store, clock, log);
  const open = new OpenConnections(clock);
  const sessions = new Sessions({
    goneAfter: () => implementations.goneAfter(),
    onGone: options.onSessionGone,
    kept: store.sessions,
    open,
    limits,
    clock,
    random,
    log,
  });
  const end = async (): Promise<void> => {
    stopSignals.abort();
    await objects.host.close();
    await sessions.stop();
    await purge.stop();
    await store.close();
  };
  const {
    wires,
    upgrade,
    open: openWire,
  } = createWires({
    refusal: () => closing.refusal(),
    open: () => !closing.draining,
    buildGate,
    signIn: (request) => signIn(request, { authenticate: options.authenticate, clock, log }),
    callerKey,
    dispatch: (call) => unary(call),
    definitions: () => implementations.definitions(),
    interceptors: options.interceptors ?? [],
    users: [(wire) => objects.use(wire), (wire) => streamsOf(wire)],
    objects: (wire) => objects.of(wire),
    objectMethod: (name) => objects.named(name),
    connections: open,
    admission,
    limits,
    cors,
    serverHeader,
    clock,
    random,
    log,
  });
  const ending = { listeners, admission, journal, streams, wires, shutdown, end, clock, random, log };
  const closing = new Closing(ending);

  const topics = new Topics({ store, clock, random, log });
  const objects: ServerObjects = new ServerObjects({
    refusal: () => closing.refusal(),
    admission,
    callerKey,
    journal,
    topics,
    signsOfLife: () => dispatching.signsOfLife,
    implemented: (typeName) => implementations.has(typeName),
    ports,
    readyTimeoutMs: options.readyTimeoutMs,
    clock,
    random,
    log,
  });
  const dispatching: DispatchParts = {
    journal,
    topics,
    signsOfLife: new SignsOfLife(sessions, limits),
    handler: (definition) => objects.streamOf(definition) ?? implementations.handler(definition),
    replyAgain: (definition) => implementations.replyAgain(definition),
    mayRerun: (definition) => implementations.mayRerun(definition),
    shutdown: shutdown.signal,
    clock,
    log,
  };
  const unary = (call: UnaryCall): Soon<UnaryAnswer> => {
    const { definition, request, carried, guest } = call;
    return objects.has(definition)
      ? objects.unary(definition, request, carried, guest)
      : dispatch(call, dispatching);
  };
  const entrance: EntranceParts = {
    refusal: () => closing.refusal(),
    buildGate,
    signIn: (request) => signIn(request, { authenticate: options.authenticate, clock, log }),
    callerKey,
    admission,
  };
  const { epoch } = store.facts;
  const following = { ...dispatching, epoch, named: (name: string) => implementations.named(name) };
  const streamsOf = wireStreams({
    refusal: () => closing.refusal(),
    open: (asked) => openStream(asked, following),
    streams,
    clock,
  });
  const follows = createFollow({
    ...following,
    greeting: entrance,
    serverHeader,
    enroll: (guest, comeBack) => enroll(guest, comeBack, open, streams),
    random,
  });
  const routing: RouteParts<Guest> = {
    definitions: () => [...implementations.definitions(), ...objects.definitions()],
    enter: (arrival) => enter(arrival, entrance),
    unary: async (definition, request, carried, guest) => unary({ definition, request, carried, guest }),
    stream: (definition, request, carried, guest, opened) =>
      follow(
        { definition, request, carried, guest, opened },
        { ...dispatching, connections: open, epoch },
        streams,
      ),
    link: { open: openWire, follow: follows.rpc },
    limits,
    cors,
    serverHeader,
    interceptors: options.interceptors ?? [],
    shutdown: shutdown.signal,
    clock,
    log,
  };
  const routes = createRoutes(routing);
  const followRoute = new FollowRoute({
    serve: (request, origin, sink) => follows.serving.serve(request, origin, sink),
    cors,
    serverHeader,
    shutdown: shutdown.signal,
    limits,
    clock,
  });
  const fallback = createFallback({
    cors,
    answerHeaders: () => ({ server: serverHeader, nowMs: Math.floor(clock.now()) }),
  });

  function onBroken(error: unknown): void {
    log.error("the store is broken: the server closes, since nothing that it keeps can be relied on", {
      error,
    });
    void server.close({ within: 0 });
  }

  const server: Server = {
    routes: (router) => ports.mount(() => routes(router)),
    fallback,
    contextValues: contextValuesOf,
    upgrade,
    accept: (wire, from) => wires.accept(wire, { header: new Headers(), address: undefined, ...from }),
    topic: ((definition: StreamDefinition, key: string, topicOptions?: { durable?: boolean }) =>
      topics.topic(definition, key, topicOptions?.durable === true)) as Server["topic"],
    implement(definition, handlers, methodOptions) {
      objects.assertNotServed(definition);
      implementations.add(definition, handlers, methodOptions);
      return server;
    },
    serve(type, factory, serveOptions) {
      objects.host.serve(type, factory, serveOptions);
      return server;
    },
    host: objects.host,
    async listen(listenOptions = {}) {
      if (closing.draining) throw new Error("holdfast: this server is closed. Make a new one.");
      const parts = { routes, fallback, follow: followRoute, limits, clock, log };
      const answer = ports.listener(() => createNodeListener({ ...parts, unary: new UnaryRoute(routing) }));
      const request: NodeListener = (its, response) => {
        if (closing.draining && its.httpVersionMajor === 1) response.setHeader("connection", "close");
        answer(its, response);
      };
      const listener = await listen(listenOptions, { request, upgrade, limits, clock, log });
      listeners.add(listener);
      return listener.address;
    },
    sessions: () => sessions.list(),
    revoke: (by) => open.revoke(by),
    close: (closeOptions) => closing.close(closeOptions),
    [Symbol.asyncDispose]: () => server.close(),
  };
  if (options.signals === true) closeAtSignals(server, stopSignals.signal, log);
  return server;
}

function readLimits(given: Partial<Limits> | undefined): Limits {
  const limits = { ...defaultLimits, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in defaultLimits)) throw new TypeError(`holdfast: there is no limit "${name}".`);
    if (!(value > 0))
      throw new RangeError(`holdfast: limits.${name} is ${String(value)}, it must be above zero.`);
  }
  return limits;
}

/** Closes at the first signal; the second meets Node's own way, which ends the process. */
function closeAtSignals(server: Server, until: AbortSignal, log: Log): void {
  const names = ["SIGTERM", "SIGINT"] as const;
  const close = (): void => {
    stop();
    log.info("a signal asks the server to close");
    server.close().catch((error: unknown) => log.error("the server could not be closed", { error }));
  };
  const stop = (): void => {
    for (const name of names) process.off(name, close);
  };
  for (const name of names) process.on(name, close);
  until.addEventListener("abort", stop, { once: true });
}
