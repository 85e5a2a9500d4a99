import { expect, test } from "vitest";
import { protocolOfBytes } from "./first-bytes.ts";

test.each([
  ["", undefined],
  ["P", undefined],
  ["PRI", undefined],
  ["PRI ", "http2"],
  ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore", "http2"],
  ["PRI * HTTP/1.1\r\n", "http1"],
  ["PO", "http1"],
  ["GET / HTTP/1.1\r\n", "http1"],
  ["\x16\x03\x01", "http1"],
])("%j is %s", (text, protocol) => {
  expect(protocolOfBytes(new TextEncoder().encode(text))).toBe(protocol);
});
