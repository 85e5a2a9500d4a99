/**
 * The server's end of a wire: what it says and hears beyond what both ends do alike.
 *
 * Source: design "Wires".
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  ClientMessageSchema,
  EndSchema,
  KeepaliveSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { toLinkError } from "./link-error.ts";
import { protocolFault, WireEnd, type WireEndOptions } from "./wire-end.ts";

/** Names of one wire: more than any schema has methods and types. */
const nameCountMost = 4_096;
const nameCharsMost = 512;

/** An end of a stream or a wire, as a message. */
export function endMessage(end: MessageInitShape<typeof EndSchema>): ServerMessage {
  return create(ServerMessageSchema, { kind: { case: "end", value: create(EndSchema, end) } });
}

export class ServerEnd extends WireEnd<typeof ClientMessageSchema, typeof ServerMessageSchema> {
  readonly #names = new Map<number, string>();

  constructor(options: WireEndOptions) {
    super({ in: ClientMessageSchema, out: ServerMessageSchema }, options);
    this.take({
      name: ({ number, name }) => this.#name(number, name),
      keepalive: ({ ask }) => {
        if (ask) this.send(this.keepalive(false));
      },
    });
  }

  /**
   * The name that a number stands for.
   *
   * @throws ConnectError for one that was not given: the wire's end, when a handler lets it through.
   */
  nameOf(number: number): string {
    const name = this.#names.get(number);
    if (name === undefined) throw protocolFault(`the number ${number} has no name on this wire`);
    return name;
  }

  /** Ends the wire in good order and says why, or when the client comes back. */
  end(end: { readonly again: boolean; readonly afterMs: number } | { readonly error: ConnectError }): void {
    if ("error" in end) {
      this.fault(end.error);
      return;
    }
    this.send(endMessage(end));
    this.close();
  }

  protected keepalive(ask: boolean): ServerMessage {
    const nowMs = Math.floor(this.clock.now());
    return create(ServerMessageSchema, {
      kind: { case: "keepalive", value: create(KeepaliveSchema, { nowMs, ask }) },
    });
  }

  protected lastWord(error: ConnectError): ServerMessage {
    return endMessage({ error: toLinkError(error) });
  }

  #name(number: number, name: string): void {
    if (number === 0 || this.#names.has(number))
      throw protocolFault(`the number ${number} is given twice, or 0`);
    if (this.#names.size >= nameCountMost) throw protocolFault(`more than ${nameCountMost} names`);
    if (name.length > nameCharsMost) throw protocolFault(`a name is longer than ${nameCharsMost} characters`);
    this.#names.set(number, name);
  }
}
