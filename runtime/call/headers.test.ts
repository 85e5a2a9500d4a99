import fc from "fast-check";
import { expect, it } from "vitest";
import { formatCallHeader, parseCallHeader } from "./headers.ts";

const id = "abcdefghijklmnopqrstuv";
const lane = "ABCDEFGHIJKLMNOPQRSTUV";
const idArb = fc.stringMatching(/^[A-Za-z0-9_-]{16,128}$/);
const countArb = fc.integer({ min: 0, max: 999_999_999_999_999 });

it("reads what it writes", () => {
  const laneArb = fc
    .record({ lane: idArb, at: countArb, tries: countArb, ms: countArb, server: fc.boolean() })
    .chain(({ at, ms, server, ...rest }) =>
      fc.integer({ min: 0, max: Math.max(0, at - 1) }).map((settled) => ({
        ...rest,
        seq: Math.max(1, at),
        settled,
        firstSent: server ? { serverMs: ms } : { agoMs: ms },
      })),
    );
  fc.assert(
    fc.property(idArb, fc.option(laneArb, { nil: undefined }), (itsId, position) => {
      const header = { id: itsId, lane: position };
      expect(parseCallHeader(formatCallHeader(header))).toEqual(header);
    }),
  );
});

it.each([id, `"${id}"`])("takes the ID alone: %s", (value) => {
  expect(parseCallHeader(value)).toEqual({ id, lane: undefined });
});

it.each([
  "",
  '""',
  "short",
  `"${id}`,
  `${id}"`,
  `"${"a".repeat(129)}"`,
  `"${id.slice(1)}!"`,
  `"${id}";l="${lane}"`,
  `"${id}";l="${lane}";s=0;u=0;t=1;f=1`,
  `"${id}";l="${lane}";s=1;u=1;t=1;f=1`,
  `"${id}";l="${lane}";s=-1;u=0;t=1;f=1`,
  `"${id}";l="${lane}";s=1.5;u=0;t=1;f=1`,
  `"${id}";l="${lane}";s=1;u=0;t=1;g=1`,
  `"${id}";l="${lane}";s=1;u=0;t=1;f=1;x=1`,
  `"${id}";l="${lane}";s=1;u=0;t=1;f=1, "${id}"`,
  `"${id}";l="no";s=1;u=0;t=1;f=1`,
  `"${id}";l="${lane}";s=1111111111111111;u=0;t=1;f=1`,
])("refuses %s", (value) => {
  expect(parseCallHeader(value)).toBeUndefined();
});
