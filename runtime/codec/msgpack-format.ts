/** What a msgpack format byte announces, in words, for errors. */
export function formatText(format: number): string {
  if (format < 0x80 || format >= 0xe0) return "an integer";
  if (format <= 0x8f) return "a map";
  if (format <= 0x9f) return "an array";
  if (format <= 0xbf) return "a string";
  return texts[format - 0xc0] ?? "an extension type, which is not used here";
}

/** From 0xc0 on; the gaps are extension types. */
const texts: Readonly<Record<number, string>> = {
  0: "nil",
  1: "the byte 0xc1, which msgpack never uses",
  2: "false",
  3: "true",
  4: "bytes",
  5: "bytes",
  6: "bytes",
  10: "a float",
  11: "a float",
  12: "an integer",
  13: "an integer",
  14: "an integer",
  15: "an integer",
  16: "an integer",
  17: "an integer",
  18: "an integer",
  19: "an integer",
  25: "a string",
  26: "a string",
  27: "a string",
  28: "an array",
  29: "an array",
  30: "a map",
  31: "a map",
};
