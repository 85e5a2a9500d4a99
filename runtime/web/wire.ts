/**
 * `holdfast/web/wire`: wires of a browser, over its own WebSocket. They are an entry of their own, so that a page whose
 * calls go over HTTP does not load them:
 *
 * ```ts
 * import { linkOf } from "holdfast";
 * import { webSocketWires } from "holdfast/web/wire";
 * const link = linkOf(url, { wire: webSocketWires });
 * ```
 */
import { ConnectionFault } from "../base/connection-fault.ts";
import { wiresBy } from "../link/link-wire.ts";
import type { OpenWireOptions, WireSupport } from "../link/wire-support.ts";
import { opened, subprotocolOf, webSocketWire, wirePath } from "../wire/websocket.ts";
import type { Wire } from "../wire/wire.ts";

export { wiresBy } from "../link/link-wire.ts";

/** Wires over the browser's WebSocket. */
export const webSocketWires: WireSupport = wiresBy(open);

async function open({ url, codec, clock, connectWaitMs, signal }: OpenWireOptions): Promise<Wire> {
  const protocol = subprotocolOf(codec);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const { host } = new URL(url);
  const late = new ConnectionFault("connect-timeout", `${host} takes no WebSocket in ${connectWaitMs} ms`, {
    sent: false,
  });
  const timer = clock.timer(connectWaitMs, () => stop.abort(late), { background: true });
  try {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/${wirePath}`, [protocol]);
    await opened(socket, protocol, stop.signal);
    return webSocketWire(socket, clock);
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    // A browser tells a page nothing of why.
    throw new ConnectionFault("connect-failed", `${host} takes no WebSocket`, { sent: false, cause: error });
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}
