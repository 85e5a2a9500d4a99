/**
 * The server's wires, put together: every kind of them leads to one way in, and calls over them to the dispatcher.
 *
 * Source: design "Wires".
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { Packet } from "../gen/holdfast/link/v1/link_pb.ts";
import type { MethodDefinition, UnaryDefinition } from "../runtime/base/definition.ts";
import type { Limits } from "../runtime/base/limits.ts";
import { DuplexWire } from "../runtime/wire/connect-duplex.ts";
import { addressKey } from "./http/exchange.ts";
import { createUpgrade, type UpgradeListener, type UpgradeParts } from "./http/upgrade.ts";
import { type AcceptParts, Wires } from "./wire/accept.ts";
import { type WireCallParts, wireCalls } from "./wire/calls.ts";
import type { OpenWire } from "./wire/open-wire.ts";
import { runWireCalls, type WireEntranceParts } from "./wire-entrance.ts";

export interface WiresParts
  extends Omit<AcceptParts, "users" | "limits">,
    Omit<WireEntranceParts, "callerKey">,
    Pick<UpgradeParts, "cors" | "open"> {
  readonly limits: AcceptParts["limits"] & Pick<Limits, "replyBytesMost">;
  readonly definitions: () => Iterable<MethodDefinition>;
  readonly objects: WireCallParts["objects"];
  /** The method of an object that a call names in a header. */
  readonly objectMethod: WireCallParts["method"];
  /** What else goes over wires. */
  readonly users: readonly ((wire: OpenWire) => void)[];
}

export interface ServerWires {
  readonly wires: Wires;
  /** Takes WebSockets. */
  readonly upgrade: UpgradeListener;
  /** Answers LinkService.Open. */
  readonly open: (packets: AsyncIterable<Packet>, context: HandlerContext) => AsyncIterable<Packet>;
}

/** Puts them together. */
export function createWires(parts: WiresParts): ServerWires {
  const ofServices = methodsByName(parts.definitions);
  const calls = wireCalls({
    method: (name) => ofServices(name) ?? parts.objectMethod(name),
    run: runWireCalls(parts),
    objects: parts.objects,
    replyBytesMost: parts.limits.replyBytesMost,
    clock: parts.clock,
    log: parts.log,
  });
  const wires = new Wires({ ...parts, users: [calls, ...parts.users] });
  return {
    wires,
    upgrade: createUpgrade({ ...parts, accept: (wire, from) => wires.accept(wire, from) }),
    open: (packets, context) => open(packets, context, wires),
  };
}

function open(packets: AsyncIterable<Packet>, context: HandlerContext, wires: Wires): AsyncIterable<Packet> {
  // A cut needs nothing more than the end of what goes out: Connect ends the stream then.
  const wire = new DuplexWire(() => undefined);
  wires.accept(wire, { header: context.requestHeader, address: context.values.get(addressKey) });
  void wire.read(packets);
  return wire.outbound;
}

/** Looked up when the first call comes: services are implemented after the server is made. */
function methodsByName(
  definitions: () => Iterable<MethodDefinition>,
): (name: string) => UnaryDefinition | undefined {
  let known: ReadonlyMap<string, UnaryDefinition> | undefined;
  return (name) => {
    known ??= new Map(
      [...definitions()].flatMap((definition): [string, UnaryDefinition][] =>
        definition.kind === "stream" || definition.kind === "plain"
          ? []
          : [[`${definition.method.parent.typeName}.${definition.method.name}`, definition]],
      ),
    );
    return known.get(name);
  };
}
