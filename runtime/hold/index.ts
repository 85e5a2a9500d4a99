/** `holdfast/hold`: held objects without a server: hosts of a program's own, and the states of what they serve. */
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
} from "../base/objects.ts";
export { state } from "../delta/state.ts";
export type { AcceptedWire } from "./accept-wire.ts";
export type { ConnectedWire, ConnectOptions } from "./connect-wire.ts";
export { createHost, type Host, type HostOptions } from "./host.ts";
export type { HostWire } from "./host-wire.ts";
export type { Factory, ServeOptions } from "./served-type.ts";
