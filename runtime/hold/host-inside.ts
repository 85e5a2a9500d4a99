/** What the parts of holdfast see of a host. */
import type { ObjectDefinition } from "../base/definition.ts";
import type { Holder, HoldRequest } from "./holding.ts";
import type { LocalHolding } from "./local-holding.ts";

export interface HostInside {
  /** The definition of a type that is served here. */
  definition(typeName: string): ObjectDefinition | undefined;
  /** A holding of an object of this host, for somebody elsewhere. The type must be served. */
  acquire(request: HoldRequest, holder: Holder): LocalHolding;
  /** What is served is not known yet; undefined: it is. Never rejects. */
  readonly loading: Promise<void> | undefined;
}
