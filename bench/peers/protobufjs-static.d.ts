/** The types that are used, untyped: see bench/fixtures/messages.ts. */
export const bench: { readonly v1: unknown };
