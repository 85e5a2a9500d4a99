/** Breakages of what programs of two builds may rely on. */
import type { Breakage } from "./breakage.ts";
import { all, builds, holds } from "./worlds.ts";

export const schemas: readonly Breakage[] = [
  {
    name: "requests of two schemas are compared",
    file: "server/journal/fingerprint.ts",
    from: '  if (!comparable) return "skipped";',
    to: "  comparable satisfies boolean;",
    where: builds,
  },
  {
    name: "a kept reply loses what its server does not know",
    file: "server/journal/outcome.ts",
    from: "fromBinary(definition.method.output, outcome.reply) } };",
    to: "fromBinary(definition.method.output, outcome.reply, { readUnknownFields: false }) } };",
    where: builds,
  },
  {
    name: "an outbox loses what its program does not know",
    file: "runtime/outbox/send-entry.ts",
    from: "(!ownTransport || isWhole(known.input, entry))",
    to: "(!ownTransport || isWhole(known.input, entry) || true)",
    where: builds,
  },
  {
    name: "a member that is not known has no place",
    file: "runtime/hold/remote-layout.ts",
    from: "  const places = message.members.map(",
    to: "  const places = message.members.filter((rpc) => byRpc.has(rpc)).map(",
    where: all(builds, holds),
  },
  {
    name: "a change of a field that is not known is an error",
    file: "runtime/delta/from-wire.ts",
    from: "    return place === undefined ? [] : [readOperation(codec, place, operation)];",
    to: '    if (place === undefined) throw new CodecError("an unknown field");\n    return [readOperation(codec, place, operation)];',
    where: all(builds, holds),
  },
];
