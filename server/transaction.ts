/**
 * `ctx.transaction` as a handler sees it, over the journal's, which deals in messages: what the callback returns is
 * made a message inside the transaction, where a reply that does not fit still rolls everything back.
 */
import type { Message } from "@bufbuild/protobuf";
import type { CommandContext } from "../runtime/base/handlers.ts";
import type { Tx } from "../runtime/base/register.ts";
import type { Publish } from "../runtime/base/topics.ts";
import type { Running } from "./journal/answer.ts";
import type { Publishing } from "./topic/publishing.ts";

export interface HandlerTransaction {
  readonly use: CommandContext["transaction"];
  /** The message that was kept, for the very value that the transaction gave the handler; else undefined. */
  messageOf(reply: unknown): Message | undefined;
}

/** @param newPublishing - makes what the transaction publishes through. */
export function createTransaction(
  transaction: Running["transaction"],
  toMessage: (reply: unknown) => Message,
  newPublishing: () => Publishing,
): HandlerTransaction {
  let kept: { readonly value: unknown; readonly message: Message } | undefined;
  return {
    async use<Reply>(write: (tx: Tx, publish: Publish) => Reply | Promise<Reply>): Promise<Reply> {
      const publishing = newPublishing();
      let value: { readonly reply: Reply } | undefined;
      const take = (reply: Reply, tx: unknown): Message => {
        value = { reply };
        const message = toMessage(reply);
        publishing.write(tx);
        return message;
      };
      const writing = transaction((tx) => {
        const reply = write(tx, publishing.publish);
        return reply instanceof Promise ? reply.then((its) => take(its, tx)) : take(reply, tx);
      });
      const message = await writing.catch((error: unknown) => {
        publishing.falls();
        throw error;
      });
      publishing.stands();
      if (value === undefined) throw new TypeError("a transaction that resolves has a value");
      kept = { value: value.reply, message };
      return value.reply;
    },
    messageOf: (reply) => (kept !== undefined && kept.value === reply ? kept.message : undefined),
  };
}
