/** A WebSocket of Node, by `ws`: open, or a fault in the words of Node's other connections. */
import { WebSocket } from "ws";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { OpenWireOptions } from "../link/wire-support.ts";
import { opened, subprotocolOf, webSocketWire, wirePath } from "../wire/websocket.ts";
import { packetBytesMost, type Wire } from "../wire/wire.ts";
import type { TlsOptions } from "./dial.ts";
import { connectFault, connectTimeout } from "./node-errors.ts";

/** Opens a WebSocket to a server. */
export async function openWebSocket(
  options: OpenWireOptions & { readonly own: { readonly tls?: TlsOptions } },
): Promise<Wire> {
  const { url, codec, clock, connectWaitMs, signal } = options;
  const protocol = subprotocolOf(codec);
  const { origin } = new URL(url);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const timer = clock.timer(connectWaitMs, () => stop.abort(connectTimeout(origin, connectWaitMs)), {
    background: true,
  });
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/${wirePath}`, [protocol], {
    ...(options.own.tls as object | undefined),
    perMessageDeflate: false,
    maxPayload: packetBytesMost,
  });
  // A wire that is only open keeps no program alive; the calls on it have timers that do.
  socket.once("upgrade", (response) => response.socket.unref());
  let problem: Error | undefined;
  socket.on("error", (error) => {
    problem = error;
  });
  try {
    await opened(socket, protocol, stop.signal);
    socket.binaryType = "nodebuffer";
    return webSocketWire(socket, clock, (packet) => socket.send(packet, { binary: false }));
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    if (problem !== undefined && "code" in problem) throw connectFault(origin, problem);
    const text = error instanceof Error ? error.message : String(error);
    throw new ConnectionFault("connect-failed", `${origin} takes no WebSocket: ${text}`, {
      sent: false,
      cause: error,
    });
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}
