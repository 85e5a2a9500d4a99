/**
 * What `await using` looks for. Browsers without it (Safari, Firefox before 141) have no `Symbol.asyncDispose` either;
 * what esbuild and Babel make of `await using` looks there for the same registered symbol.
 */
export const asyncDispose: typeof Symbol.asyncDispose =
  (Symbol as { readonly asyncDispose?: typeof Symbol.asyncDispose }).asyncDispose ??
  (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);
