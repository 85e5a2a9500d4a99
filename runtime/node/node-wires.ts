/**
 * How links of Node open their wire: a WebSocket. Against a duplex stream of HTTP/2 it is the faster of the two, and
 * what a large write waits for is one socket, not two layers of windows.
 *
 * What does it is loaded when the first wire is opened: a command that makes one call pays nothing for it.
 */
import { wiresBy } from "../link/link-wire.ts";
import type { WireSupport } from "../link/wire-support.ts";

export const nodeWires: WireSupport = wiresBy(async (options) => {
  const { openWebSocket } = await import("./websocket.ts");
  return openWebSocket(options);
});
