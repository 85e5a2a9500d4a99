/** The neutral surface: what every platform's entry gives again. */
export type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
export { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
export type { CallOptions, Calls } from "./base/calls.ts";
export { type Clock, systemClock, type Timer } from "./base/clock.ts";
export { ConnectionFault, type FaultKind } from "./base/connection-fault.ts";
export { defaultTiming, type Timing } from "./base/constants.ts";
export type {
  CommandDefinition,
  HeartbeatDefinition,
  MemberDefinition,
  MethodDefinition,
  ObjectDefinition,
  OutboxMode,
  PlainStreamDefinition,
  QueryDefinition,
  ServiceDefinition,
  SignalDefinition,
  StateDefinition,
  StreamDefinition,
  UnaryDefinition,
  VariantDefinition,
} from "./base/definition.ts";
export { HoldfastError, type Progress } from "./base/errors.ts";
export { consoleLog, type Log, silentLog } from "./base/log.ts";
export type {
  GetOptions,
  HoldOptions,
  Holds,
  Member,
  ObjectContext,
  Reference,
  ReferenceState,
  Self,
  StateMember,
} from "./base/objects.ts";
export { type Random, systemRandom } from "./base/random.ts";
export { type Outcome, type Reason, reasons } from "./base/reasons.ts";
export type {
  Gap,
  GapMode,
  PlainStreamOptions,
  ResumableStream,
  StreamOptions,
  StreamState,
} from "./base/streams.ts";
export type { Watchable } from "./base/watchable.ts";
export { state } from "./delta/state.ts";
export { createHost, type Host, type HostOptions } from "./hold/host.ts";
export type { Factory, ServeOptions } from "./hold/served-type.ts";
export { SignInGone, type TokenRequest, type TokenSource } from "./call/sign-in.ts";
export type { Link } from "./link/link.ts";
export { linkLine } from "./link/link-line.ts";
export type { LinkOptions } from "./link/link-options.ts";
export type { LinkState } from "./link/link-state.ts";
export type { CallsWay, OpenWire, OpenWireOptions, WireSupport } from "./link/wire-support.ts";
export type { OutboxOptions } from "./link/link-options.ts";
export type { FailedOutcome } from "./outbox/ending.ts";
export type { Outbox, OutboxItem, SendReport } from "./outbox/outbox.ts";
export type { OutboxLease, OutboxStore, StoredBytes, StoredName } from "./outbox/outbox-store.ts";
export type { Settlement } from "./outbox/settlements.ts";
export type { BeatOptions, Heartbeat } from "./base/heartbeats.ts";
export type { SetAside } from "./outbox/shelf.ts";
