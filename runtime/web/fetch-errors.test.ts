import { describe, expect, it } from "vitest";
import { bodyFault, fetchFault } from "./fetch-errors.ts";

const caused = (message: string, code: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });

describe("fetchFault", () => {
  it.each([
    ["Chromium", new TypeError("Failed to fetch"), "unknown"],
    ["Firefox", new TypeError("NetworkError when attempting to fetch resource."), "unknown"],
    ["Safari", new TypeError("Load failed"), "unknown"],
    ["Safari, connection lost", new TypeError("The network connection was lost."), "cut"],
    ["React Native", new TypeError("Network request failed"), "unknown"],
    ["undici, refused", caused("connect ECONNREFUSED 127.0.0.1:9", "ECONNREFUSED"), "connect-refused"],
    [
      "undici, connect timeout",
      caused("Connect Timeout Error", "UND_ERR_CONNECT_TIMEOUT"),
      "connect-timeout",
    ],
    ["undici, no such name", caused("getaddrinfo ENOTFOUND a.example", "ENOTFOUND"), "connect-failed"],
    ["undici, closed", caused("other side closed", "UND_ERR_SOCKET"), "cut"],
    ["undici, slow headers", caused("Headers Timeout Error", "UND_ERR_HEADERS_TIMEOUT"), "cut"],
    [
      "undici, certificate",
      caused("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"),
      "connect-failed",
    ],
    [
      "Bun, refused",
      Object.assign(new Error("Unable to connect. Is the computer able to access the url?"), {
        code: "ConnectionRefused",
      }),
      "connect-refused",
    ],
    ["Bun, closed", new Error("The socket connection was closed unexpectedly."), "cut"],
    [
      "Deno, refused",
      new TypeError(
        "error sending request for url (http://a/): client error (Connect): tcp connect error: Connection refused (os error 111)",
      ),
      "connect-refused",
    ],
    [
      "Deno, closed",
      new TypeError("error sending request for url (http://a/): connection closed before message completed"),
      "cut",
    ],
    ["workerd", new Error("Network connection lost."), "cut"],
    ["nobody", new Error("fetch: le réseau est parti"), "unknown"],
  ])("knows %s", (_, error, kind) => {
    const fault = fetchFault("https://a.example", error);
    expect([fault.kind, fault.sent, fault.cause]).toEqual([kind, true, error]);
    expect(fault.message).toContain("https://a.example");
  });

  it.each([
    ["Chromium", new TypeError("network error")],
    ["Firefox", new TypeError("NetworkError when attempting to fetch resource.")],
    ["Firefox, reset", new TypeError("Error in input stream")],
    ["undici", new TypeError("terminated")],
    ["nobody", "a text"],
  ])("takes what ends an answer that has begun for a cut, in the words of %s", (_, error) => {
    const fault = bodyFault("https://a.example", error);
    expect([fault.kind, fault.sent, fault.cause]).toEqual(["cut", true, error]);
    expect(fault.message).toContain("https://a.example broke off its answer");
  });

  it("ends with causes that go in a circle, and with what is no error", () => {
    const circle = new Error("round");
    circle.cause = circle;
    expect(fetchFault("https://a.example", circle).kind).toBe("unknown");
    expect(fetchFault("https://a.example", { odd: true }).message).toContain("no words");
  });
});
