/** A real server and links of Node to it over each kind of wire, which a test can cut. */
import { createConnectTransport } from "@connectrpc/connect-node";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { Link } from "../../runtime/link/link.ts";
import { wiresBy } from "../../runtime/link/link-wire.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import type { OpenWireOptions } from "../../runtime/link/wire-support.ts";
import { type NodeLinkOptions, nodePlatform } from "../../runtime/node/platform.ts";
import { openWebSocket } from "../../runtime/node/websocket.ts";
import { connectDuplexWire } from "../../runtime/wire/connect-duplex.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import { messagePortWire } from "../../runtime/wire/message-port.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import type { ServerOptions } from "../../server/index.ts";
import { type TallyClient, type TallyHandlers, tallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "./harness.ts";
import { startTally, type TallyServer } from "./tally-server.ts";

export type WireKind = "memory" | "WebSocket" | "Connect" | "MessagePort";

export interface WireWorld extends AsyncDisposable {
  readonly harness: Harness;
  readonly server: TallyServer;
  readonly link: Link;
  readonly client: TallyClient;
  /** Every wire that the link opened, in order. */
  readonly wires: readonly Wire[];
  /** Cuts the one that is open, as a network does. */
  cut(): void;
}

export async function wireWorld(
  kind: WireKind,
  options: LinkOptions & NodeLinkOptions = {},
  serverOptions: ServerOptions & { readonly handlers?: Partial<TallyHandlers> } = {},
): Promise<WireWorld> {
  const held = harness();
  const server = held.own(await startTally(serverOptions));
  const wires: Wire[] = [];
  const wire = wiresBy(async (its) => {
    const made = await openOf(kind, server, its);
    wires.push(made);
    return made;
  });
  const linkOf = createLinkOf(nodePlatform, ["httpVersion", "tls"]);
  const link = held.own(linkOf(server.address.url, { wire, calls: "wire", ...options }));
  return {
    harness: held,
    server,
    link,
    client: tallyClient(link),
    wires,
    cut: () => wires.at(-1)?.cut(new Error("cut by the test")),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

async function openOf(kind: WireKind, { server, address }: TallyServer, its: OpenWireOptions): Promise<Wire> {
  switch (kind) {
    case "WebSocket":
      return openWebSocket(its);
    case "Connect":
      return connectDuplexWire(
        createConnectTransport({ baseUrl: address.url, httpVersion: "2" }),
        new Headers(),
      );
    case "memory": {
      const [mine, theirs] = memoryPair();
      server.accept(theirs);
      return mine;
    }
    case "MessagePort": {
      const { port1, port2 } = new MessageChannel();
      server.accept(messagePortWire(port2));
      return messagePortWire(port1);
    }
  }
}
