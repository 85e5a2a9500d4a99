/**
 * `ctx.transaction` as a handler sees it, over the journal's, which deals in messages: what the callback returns is
 * made a message inside the transaction, where a reply that does not fit still rolls everything back.
 */
import type { Message } from "@bufbuild/protobuf";
import type { CommandContext } from "../runtime/base/handlers.ts";
import type { Tx } from "../runtime/base/register.ts";
import type { Running } from "./journal/answer.ts";

export interface HandlerTransaction {
  readonly use: CommandContext["transaction"];
  /** The message that was kept, for the very value that the transaction gave the handler; else undefined. */
  messageOf(reply: unknown): Message | undefined;
}

export function createTransaction(
  transaction: Running["transaction"],
  toMessage: (reply: unknown) => Message,
): HandlerTransaction {
  let kept: { readonly value: unknown; readonly message: Message } | undefined;
  return {
    async use<Reply>(write: (tx: Tx) => Reply | Promise<Reply>): Promise<Reply> {
      let value: { readonly reply: Reply } | undefined;
      const take = (reply: Reply): Message => {
        value = { reply };
        return toMessage(reply);
      };
      const message = await transaction((tx) => {
        const reply = write(tx);
        return reply instanceof Promise ? reply.then(take) : take(reply);
      });
      if (value === undefined) throw new TypeError("a transaction that resolves has a value");
      kept = { value: value.reply, message };
      return value.reply;
    },
    messageOf: (reply) => (kept !== undefined && kept.value === reply ? kept.message : undefined),
  };
}
