/** The entry of servers: `holdfast/server`. */
export { consoleLog, type Log } from "../runtime/base/log.ts";
export { defaultLimits, type Limits } from "../runtime/base/limits.ts";
export type {
  Caller,
  CommandContext,
  HandlerContext,
  PlainStreamContext,
  StreamContext,
} from "../runtime/base/handlers.ts";
export type * from "../runtime/base/register.ts";
export type * from "../runtime/base/topics.ts";
export type { BuildOptions, ClientBuild } from "./build-gate.ts";
export type { Authenticate, SignIn, SignInRequest } from "./caller.ts";
export type { CloseOptions } from "./close.ts";
export {
  engine,
  type Engine,
  type EngineDefinition,
  type EngineOpenOptions,
} from "./engine/engine.ts";
export type {
  Accepted,
  Done,
  EngineCommand,
  EngineRules,
  HandleContext,
  Origin,
} from "./engine/rules.ts";
export type { Feed, FeedContext } from "./engine/feeds.ts";
export type { Applied } from "./engine/listeners.ts";
export type { StartReport } from "./engine/start.ts";
export type { CorsOptions } from "./http/cors.ts";
export type { ListenAddress, ListenOptions } from "./http/listen.ts";
export type { NodeListener } from "./http/node-listener.ts";
export type { MethodOptions, ServiceOptions } from "./implement.ts";
export type { GoneSession, OnSessionGone, SessionGoneContext } from "./session/farewell.ts";
export type { SessionInfo } from "./session/session.ts";
export { createServer, type Server, type ServerOptions } from "./server.ts";
export { type Factory, type Host, type ServeOptions, state } from "../runtime/hold/index.ts";
export type { ObjectContext, Self, StateMember } from "../runtime/base/objects.ts";
export { memoryStore, type MemoryStoreOptions } from "./store/memory-store.ts";
export { tryAgain } from "./try-again.ts";
export { type Store, StoreError } from "./store/store.ts";
