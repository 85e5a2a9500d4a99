import { expect, test } from "vitest";
import { createCors } from "./cors.ts";

const asked = (origin: string): Headers => new Headers({ origin, "access-control-request-method": "POST" });

test("a page of a named origin may send our headers and read ours", () => {
  const cors = createCors({ origins: ["https://board.example.com"] });
  const answer = cors.preflight("OPTIONS", asked("https://board.example.com"));
  expect(answer?.status).toBe(204);
  expect(answer?.header?.get("access-control-allow-origin")).toBe("https://board.example.com");
  expect(answer?.header?.get("access-control-allow-headers")).toMatch(/authorization.*holdfast-call/);
  const response = new Headers();
  cors.allow(asked("https://board.example.com"), response);
  expect(response.get("access-control-expose-headers")).toMatch(/retry-after.*holdfast-server/);
  expect(response.has("access-control-allow-credentials")).toBe(false);
});

test.each([
  "https://evil.example.com",
  "null",
  "https://board.example.com.evil.org",
  "http://board.example.com",
])("a page of %s may not", (origin) => {
  const cors = createCors({ origins: ["https://board.example.com"] });
  expect(cors.preflight("OPTIONS", asked(origin))?.header?.has("access-control-allow-origin")).toBe(false);
  const response = new Headers();
  cors.allow(asked(origin), response);
  expect([...response.keys()]).toEqual(["vary"]);
});

test.each(["https://board.example.com/", "board.example.com", "https://a b", ""])(
  "an origin that no browser sends is a mistake that is named: %j",
  (origin) => {
    expect(() => createCors({ origins: [origin] })).toThrow(/cors\.origins has/);
  },
);

test("without the option nothing is answered and nothing added", () => {
  const cors = createCors(undefined);
  expect(cors.preflight("OPTIONS", asked("https://a.example.com"))).toBeUndefined();
  const response = new Headers();
  cors.allow(asked("https://a.example.com"), response);
  expect([...response.keys()]).toEqual([]);
});
