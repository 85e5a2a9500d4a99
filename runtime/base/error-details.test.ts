import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ErrorInfoSchema, Reason, RetryDelaySchema } from "../../gen/holdfast/v1/errors_pb.ts";
import { readErrorInfo, readRetryDelay, writeErrorInfo, writeRetryDelay } from "./error-details.ts";

test("an ErrorInfo is what the schema says, both ways", () => {
  const info = create(ErrorInfoSchema, { reason: Reason.CALL_FORGOTTEN, advice: "Look first." });
  expect(fromBinary(ErrorInfoSchema, writeErrorInfo(info.reason, info.advice))).toEqual(info);
  expect(readErrorInfo(toBinary(ErrorInfoSchema, info))).toBe(Reason.CALL_FORGOTTEN);
  expect(readErrorInfo(new Uint8Array())).toBe(0);
});

test("a retry delay is what the schema says, both ways, for any wait", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (delayMs) => {
      const retryDelay = durationFromMs(delayMs);
      const message = create(RetryDelaySchema, { retryDelay });
      expect(fromBinary(RetryDelaySchema, writeRetryDelay(delayMs))).toEqual(message);
      expect(readRetryDelay(toBinary(RetryDelaySchema, message))).toBe(delayMs);
    }),
  );
  expect(readRetryDelay(new Uint8Array())).toBeUndefined();
});

test("fields of a newer schema are skipped", () => {
  const newer = new Uint8Array([...writeErrorInfo(5, "x"), 0x1a, 0x02, 0x68, 0x69, 0x20, 0x07]);
  expect(readErrorInfo(newer)).toBe(5);
});
