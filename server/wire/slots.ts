/**
 * Which wire stands in which slot of a link. A client counts the wires that it opens for a slot; a newer one takes
 * the place of an older, whatever became of that, and an older one that comes late is sent away.
 *
 * A link's ID is no authority: slots are told apart by their caller too.
 *
 * Source: reliability decision D48, check X21.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { WireGuest } from "./greet.ts";
import type { OpenWire } from "./open-wire.ts";

export class Slots {
  readonly #standing = new Map<string, OpenWire>();

  /**
   * Looks whether a wire that says hello is the newest of its slot.
   *
   * @throws ConnectError `aborted` for one that is not.
   */
  check(guest: WireGuest): void {
    const standing = this.#standing.get(slotOf(guest));
    if (standing === undefined || guest.generation > standing.guest.generation) return;
    throw new ConnectError(
      `a wire of generation ${standing.guest.generation} stands in this slot, and ${guest.generation} is not newer`,
      Code.Aborted,
    );
  }

  /** The wire stands in its slot from now on; the one that stood there ends. */
  take(wire: OpenWire): void {
    const slot = slotOf(wire.guest);
    const before = this.#standing.get(slot);
    this.#standing.set(slot, wire);
    before?.supersede();
  }

  /** The wire has ended. */
  leave(wire: OpenWire): void {
    const slot = slotOf(wire.guest);
    if (this.#standing.get(slot) === wire) this.#standing.delete(slot);
  }
}

/** Neither a link's ID nor a slot has a blank in it. */
function slotOf({ key, link, slot }: WireGuest): string {
  return `${link} ${slot} ${key.space}`;
}
