import type { FuzzTarget } from "./target.ts";

/** A decoder with a planted fault, which the fuzzer must find; if it does not, it finds nothing elsewhere either. */
export const canary: FuzzTarget = {
  name: "canary",
  corpus: () => [Uint8Array.of(0x81, 0x01, 0xa1, 0x61)],
  run: (input) => {
    const [map, key, string, first] = input;
    if (map !== 0x81 || key !== 0x01) return "not a map";
    if (string === undefined || string < 0xa0 || string > 0xbf) return "not a string";
    const length = string & 0x1f;
    // The length is trusted. Two things must come together, so the corpus has to grow on the way.
    if (length > 3 && first === 0xff) throw new RangeError("read beyond the end");
    return `a string of ${length}`;
  },
};
