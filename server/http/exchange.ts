/**
 * What the wrapper around Connect's handlers and the handlers' implementations tell each other about one
 * request. It travels in Connect's context values, which every adapter hands through.
 */
import type { ConnectError, ContextKey } from "@connectrpc/connect";
import { createContextKey } from "@connectrpc/connect";
import type { Message } from "@bufbuild/protobuf";
import type { Opened } from "./early-head.ts";
import type { Mark } from "../../runtime/base/reasons.ts";

/** What the entrance found out about a request, before its body was read. */
export interface Entered {
  /** The caller's opaque tag. */
  readonly tag: string;
  /** The request goes no further: gives back its turn. May be called twice. */
  leave(): void;
}

/** How a unary request was answered. */
export interface UnaryAnswer {
  /** Undefined for what is no command. */
  readonly mark: Mark | undefined;
  readonly repeat: boolean;
  readonly result: { readonly reply: Message } | { readonly error: ConnectError };
}

/** One request on its way through Connect. */
export interface Exchange<E extends Entered> {
  readonly entered: E | undefined;
  /** What the entrance stopped it with. */
  readonly stop: ConnectError | undefined;
  /** How far it came: not through Connect's parser, through it, in the hands of the dispatcher. */
  progress: "arrived" | "parsed" | "dispatched";
  answer: UnaryAnswer | undefined;
  /** Of a stream: sends the head of its answer now. */
  opened?: Opened;
}

/** The address that a request came from; undefined where the adapter does not say. */
export const addressKey: ContextKey<string | undefined> = createContextKey<string | undefined>(undefined, {
  description: "holdfast: the address of the client",
});
