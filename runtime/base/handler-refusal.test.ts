import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { retryDetail } from "./errors.ts";
import { isHandlerRefusal } from "./handler-refusal.ts";

const said: Readonly<Record<keyof typeof Code, "no" | "fault">> = {
  Canceled: "fault",
  Unknown: "fault",
  InvalidArgument: "no",
  DeadlineExceeded: "fault",
  NotFound: "no",
  AlreadyExists: "no",
  PermissionDenied: "no",
  ResourceExhausted: "fault",
  FailedPrecondition: "no",
  Aborted: "no",
  OutOfRange: "no",
  Unimplemented: "no",
  Internal: "fault",
  Unavailable: "fault",
  DataLoss: "fault",
  Unauthenticated: "fault",
};

test.each(Object.entries(said))("%s is a %s", (name, expected) => {
  const error = new ConnectError("", Code[name as keyof typeof Code]);
  expect(isHandlerRefusal(error)).toBe(expected === "no");
});

test("aborted is none when it asks for a new try", () => {
  const error = new ConnectError("", Code.Aborted);
  error.details = [retryDetail(100)];
  expect(isHandlerRefusal(error)).toBe(false);
});
