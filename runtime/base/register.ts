/**
 * Where a program says once what it uses, so that every type of holdfast knows it:
 *
 * ```ts
 * import type { Database } from "better-sqlite3";
 * declare module "holdfast/server" {
 *   interface Register { tx: Database }
 * }
 * ```
 */
// biome-ignore lint: a program merges its own members in
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- empty on purpose: a program merges its members in
export interface Register {}

/** What `ctx.transaction` hands to its callback: what {@link Register} says, else `unknown`. */
export type Tx = Register extends { readonly tx: infer Given } ? Given : unknown;
