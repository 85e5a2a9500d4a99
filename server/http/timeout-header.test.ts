import { expect, test } from "vitest";
import { lowerTimeout, timeoutMsOf } from "./timeout-header.ts";

const grpc = { "content-type": "application/grpc" };

test.each([
  [{ "connect-timeout-ms": "250" }, 250],
  [{ "connect-timeout-ms": "9999999999" }, 9_999_999_999],
  [{ "connect-timeout-ms": "99999999999" }, undefined],
  [{ "connect-timeout-ms": "-1" }, undefined],
  [{}, undefined],
  [{ ...grpc, "grpc-timeout": "2S" }, 2_000],
  [{ ...grpc, "grpc-timeout": "5u" }, 0.005],
  [{ ...grpc, "grpc-timeout": "99999999H" }, 99_999_999 * 3_600_000],
  [{ ...grpc, "grpc-timeout": "2 S" }, undefined],
  [{ ...grpc, "connect-timeout-ms": "250" }, undefined],
])("the budget of %j is %s ms", (header, timeoutMs) => {
  expect(timeoutMsOf(new Headers(header))).toBe(timeoutMs);
});

test.each([
  [{ "connect-timeout-ms": "2147483647" }, "connect-timeout-ms", "2147483647"],
  [{ "connect-timeout-ms": "2147483648" }, "connect-timeout-ms", "2147483647"],
  [{ "connect-timeout-ms": "soon" }, "connect-timeout-ms", "soon"],
  [{ ...grpc, "grpc-timeout": "720H" }, "grpc-timeout", "2147483S"],
  [{ ...grpc, "grpc-timeout": "1H" }, "grpc-timeout", "1H"],
])("what no timer takes is lowered, the rest is left: %j", (header, name, value) => {
  const headers = new Headers(header);
  lowerTimeout(headers);
  expect(headers.get(name)).toBe(value);
});
