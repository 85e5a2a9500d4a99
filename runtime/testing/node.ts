/** Entry holdfast/testing/node: what needs Node's sockets; the rest is in holdfast/testing. */
export type { Direction } from "./faulty-direction.ts";
export {
  type FaultyProxy,
  type FaultyProxyOptions,
  faultyProxy,
  type ProxyEvent,
  type Welcome,
} from "./faulty-proxy.ts";
