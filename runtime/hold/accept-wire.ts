/**
 * A wire of one's own on which the other end holds what this host serves: the welcome, and its users.
 *
 * A server of `createServer` greets its wires by itself, and asks who it is; here the program has said so.
 *
 * Source: design "Wires", "Held objects".
 */
import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { streamIdleMs } from "../base/constants.ts";
import type { Caller } from "../base/handlers.ts";
import type { Log } from "../base/log.ts";
import { formatServerHeader } from "../call/headers.ts";
import type { Codec } from "../codec/codec.ts";
import { jsonCodec } from "../codec/json.ts";
import {
  checkHello,
  codecOfHello,
  firstPacket,
  helloWaitMs,
  readHello,
  welcomeMessage,
} from "../wire/handshake.ts";
import { toLinkError } from "../wire/link-error.ts";
import { endMessage, ServerEnd } from "../wire/server-end.ts";
import { protocolFault } from "../wire/wire-end.ts";
import type { Wire } from "../wire/wire.ts";
import type { HostInside } from "./host-inside.ts";
import type { HostWire } from "./host-wire.ts";
import { ProvidedCalls } from "./provided-calls.ts";
import { ProviderSide } from "./provider-side.ts";

export interface AcceptParts {
  readonly host: HostInside;
  readonly principal: Caller;
  readonly clock: Clock;
  readonly log: Log;
}

/** A wire that was accepted. */
export interface AcceptedWire extends HostWire {
  /** The other end has these grants from now on: variants are chosen again. */
  regrant(principal: Caller): void;
}

export function acceptWire(wire: Wire, parts: AcceptParts): AcceptedWire {
  const { clock, host, log } = parts;
  let { principal } = parts;
  let end: ServerEnd | undefined;
  let side: ProviderSide | undefined;
  let first: Codec = jsonCodec;
  let closed: () => void = () => undefined;
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const refuse = (thrown: unknown): void => {
    timer.cancel();
    wire.send(firstPacket(first, endMessage({ error: toLinkError(ConnectError.from(thrown)) })));
    wire.close();
  };
  const timer = clock.timer(helloWaitMs, () => refuse(protocolFault("no hello came in time")), {
    background: true,
  });
  wire.onClose((cause) => {
    timer.cancel();
    end?.gone(cause);
    closed();
  });
  const open = (packet: Uint8Array): void => {
    first = codecOfHello(packet);
    const { hello, rest } = readHello(packet);
    if (rest.length > 0) throw protocolFault("nothing may be said before the welcome");
    const { codec, idleMs, session } = checkHello(hello);
    timer.cancel();
    const server = formatServerHeader(undefined);
    const nowMs = Math.floor(clock.now());
    wire.send(firstPacket(first, welcomeMessage({ server, nowMs, caller: "", idleMs: streamIdleMs })));
    end = new ServerEnd({ wire, codec, clock, log, idleMs: streamIdleMs, otherIdleMs: idleMs });
    side = new ProviderSide({ end, host, caller: () => principal, session, clock });
    new ProvidedCalls(end, side, clock);
  };
  wire.onPacket((packet) => {
    if (end !== undefined) {
      end.receive(packet);
      return;
    }
    try {
      open(packet);
    } catch (error) {
      refuse(error);
    }
  });
  return {
    closed: whenClosed,
    close: () => {
      if (end === undefined) wire.close();
      else end.close();
    },
    regrant: (next) => {
      principal = next;
      side?.regranted();
    },
  };
}
