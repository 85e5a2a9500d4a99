import { decode } from "@msgpack/msgpack";

/** What another msgpack library makes of the bytes, as text. */
export function treeOf(bytes: Uint8Array): string {
  return treeText(
    decode(bytes, {
      useBigInt64: true,
      mapKeyConverter: (key) => (typeof key === "string" ? JSON.stringify(key) : String(key)),
    }),
  );
}

/** What a msgpack library decoded, as text: `{1: "text", 2: 5, 3: h'00ff'}`. */
function treeText(tree: unknown): string {
  if (typeof tree === "string") return JSON.stringify(tree);
  if (tree instanceof Uint8Array) return `h'${Buffer.from(tree).toString("hex")}'`;
  if (Array.isArray(tree)) return `[${tree.map(treeText).join(", ")}]`;
  if (typeof tree === "object" && tree !== null) {
    return `{${Object.entries(tree)
      .map(([key, value]) => `${key}: ${treeText(value)}`)
      .join(", ")}}`;
  }
  return Object.is(tree, -0) ? "-0" : String(tree);
}
