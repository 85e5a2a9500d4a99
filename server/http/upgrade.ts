/**
 * WebSockets on the port of HTTP: what asks for one at the path of LinkService.Open, with a subprotocol of ours and
 * from a page that may, becomes a wire. Who it is, its first message says.
 *
 * Source: design "Server: What a user writes", "Quality: Security"; reliability section 5.1.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../runtime/base/clock.ts";
import { headerNames } from "../../runtime/call/headers.ts";
import { codecNamed } from "../../runtime/wire/handshake.ts";
import { codecOfSubprotocol, webSocketWire, wirePath } from "../../runtime/wire/websocket.ts";
import { packetBytesMost, type Wire } from "../../runtime/wire/wire.ts";
import type { Cors } from "./cors.ts";
import { mayOpen } from "./origin-check.ts";

/** A listener for `upgrade` of Node's HTTP/1.1 server. */
export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface UpgradeParts {
  readonly cors: Cors;
  /** Takes a wire that has said nothing yet. */
  readonly accept: (
    wire: Wire,
    from: { readonly header: Headers; readonly address: string | undefined },
  ) => void;
  /** Whether new wires are taken. */
  readonly open: () => boolean;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly clock: Clock;
}

/** Frames of one packet, and pieces that wait for the rest of a frame: tiny ones cost far more than they carry. */
const fragmentsMost = 64;
const chunksMost = 8_192;

/** Makes the listener; one server may have several. */
export function createUpgrade(parts: UpgradeParts): UpgradeListener {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: packetBytesMost,
    maxFragments: fragmentsMost,
    maxBufferedChunks: chunksMost,
    // Each compressed message would cost a context of zlib for every wire, and lets small frames grow.
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => ourProtocol(offered) ?? false,
  });
  sockets.on("headers", (lines) => lines.push(`${headerNames.server}: ${parts.serverHeader}`));
  return (request, socket, head) => {
    const status = refusal(request, parts);
    if (status !== undefined) {
      refuse(socket, status, parts.serverHeader);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (made: WebSocket) => {
      const codec = codecNamed(codecOfSubprotocol(made.protocol) ?? "");
      const from = {
        header: headersOf(request),
        address: request.socket.remoteAddress,
        ...(codec === undefined ? {} : { codec }),
      };
      parts.accept(wireOf(made, parts.clock), from);
    });
  };
}

/** Apart from the request, so that no wire keeps its request in memory. */
function wireOf(socket: WebSocket, clock: Clock): Wire {
  socket.binaryType = "nodebuffer";
  return webSocketWire(socket, clock, (packet) => socket.send(packet, { binary: false }));
}

/** The status that a request for a WebSocket is refused with; undefined: it may have one. */
function refusal(request: IncomingMessage, { cors, open }: UpgradeParts): number | undefined {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  if (!path.endsWith(`/${wirePath}`)) return 404;
  if (!open()) return 503;
  const { origin, host } = request.headers;
  if (!mayOpen(origin, host, (page) => cors.lists(page))) return 403;
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  return ourProtocol(offered) === undefined ? 400 : undefined;
}

/** The first of the client's subprotocols that is ours: the order is its own preference. */
function ourProtocol(offered: Iterable<string>): string | undefined {
  for (const name of offered) if (codecOfSubprotocol(name) !== undefined) return name;
  return undefined;
}

function refuse(socket: Duplex, status: number, serverHeader: string): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    `${headerNames.server}: ${serverHeader}`,
    "connection: close",
    "content-length: 0",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n`, () => socket.destroy());
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
