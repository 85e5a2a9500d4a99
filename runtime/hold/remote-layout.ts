/**
 * What a variant of a type consists of, as the provider said it on one wire, in the words of who holds: members that
 * this program's schema does not know have no name here, and are passed over.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Layout as LayoutMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ObjectDefinition, VariantDefinition } from "../base/definition.ts";

/** A state by its place in the layout; undefined: one that the schema here does not know. */
export type LaidState = { readonly name: string; readonly desc: DescMessage } | undefined;

export interface RemoteLayout {
  readonly variant: VariantDefinition;
  /** By place: states lie first, so that this is the order of values and versions too. */
  readonly places: readonly LaidState[];
}

export function readLayout(definition: ObjectDefinition, message: LayoutMessage): RemoteLayout {
  const byRpc = new Map(
    Object.entries(definition.$members).map(([name, member]) => [member.method.name, { name, member }]),
  );
  const members: string[] = [];
  const places = message.members.map((rpc): LaidState => {
    const known = byRpc.get(rpc);
    if (known === undefined) return undefined;
    members.push(known.name);
    return known.member.kind === "state" ? { name: known.name, desc: known.member.method.output } : undefined;
  });
  return { variant: { name: message.variant, members }, places };
}
