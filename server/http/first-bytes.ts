/**
 * Which protocol a connection speaks, from its first bytes: HTTP/2 without TLS begins with a fixed preface, and
 * everything else is HTTP/1.1, WebSocket upgrades included.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/base/clock.ts";

const preface = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** What the bytes seen so far say; undefined: too few. */
export function protocolOfBytes(bytes: Uint8Array): "http1" | "http2" | undefined {
  const count = Math.min(bytes.length, preface.length);
  for (let at = 0; at < count; at += 1) if (bytes[at] !== preface[at]) return "http1";
  // "PRI" is no method of HTTP/1.1, so these need not wait for the rest.
  return count >= 4 ? "http2" : undefined;
}

/**
 * Calls `decided` once the protocol is known, with the socket as if nothing had been read. A connection that
 * stays silent for `waitMs` is closed. The socket has no listener of ours afterwards.
 */
export function sniff(
  socket: Socket,
  options: { readonly clock: Clock; readonly waitMs: number },
  decided: (protocol: "http1" | "http2") => void,
): void {
  const pieces: Buffer[] = [];
  const timer = options.clock.timer(options.waitMs, () => socket.destroy(), { background: true });
  const readable = (): void => {
    const piece = socket.read() as Buffer | null;
    if (piece === null) return; // the end of the stream; "close" follows
    pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const protocol = protocolOfBytes(bytes);
    if (protocol === undefined) return;
    stop();
    socket.unshift(bytes);
    decided(protocol);
  };
  const closed = (): void => {
    stop();
    socket.destroy(); // a half-closed one that never said what it wants
  };
  const stop = (): void => {
    timer.cancel();
    socket.off("readable", readable);
    socket.off("close", closed);
    socket.off("end", closed);
  };
  socket.on("readable", readable);
  socket.on("close", closed);
  socket.on("end", closed);
}
