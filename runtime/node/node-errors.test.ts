import { constants } from "node:http2";
import { describe, expect, it } from "vitest";
import { connectFault, refusedFault, requestFault, resetFault } from "./node-errors.ts";

const origin = "https://a.example";
const coded = (code: string): Error => Object.assign(new Error(`failed: ${code}`), { code });

describe("a fault before the connection stands", () => {
  it.each([
    ["ECONNREFUSED", "connect-refused", "refused the connection"],
    ["ENOTFOUND", "connect-failed", "does not exist"],
    ["EAI_AGAIN", "connect-failed", "online"],
    ["ETIMEDOUT", "connect-timeout", "firewall"],
    ["EHOSTUNREACH", "connect-failed", "VPN"],
    ["ENETUNREACH", "connect-failed", "VPN"],
    ["ECONNRESET", "connect-failed", "before it was set up"],
    ["CERT_HAS_EXPIRED", "connect-failed", "clock"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "connect-failed", "another name"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "connect-failed", "tls: { ca }"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "connect-failed", "tls: { ca }"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "connect-failed", "http: in place of https:"],
    ["ERR_HTTP2_ERROR", "connect-failed", 'httpVersion: "1.1"'],
    ["EMFILE", "connect-failed", "ulimit"],
    ["E_NEW_AND_STRANGE", "connect-failed", "E_NEW_AND_STRANGE"],
  ])("knows %s", (code, kind, words) => {
    const fault = connectFault(origin, coded(code));
    expect(fault).toMatchObject({ kind, sent: false, message: expect.stringContaining(words) });
    expect(fault.message).toContain(code);
  });

  it.each([
    [["ECONNREFUSED", "ECONNREFUSED"], "connect-refused"],
    [["ENETUNREACH", "ECONNREFUSED"], "connect-refused"],
    [["ECONNREFUSED", "ETIMEDOUT"], "connect-timeout"],
    [["ENETUNREACH", "EHOSTUNREACH"], "connect-failed"],
  ])("of several addresses with %j is %s", (codes, kind) => {
    expect(connectFault(origin, new AggregateError(codes.map(coded))).kind).toBe(kind);
  });
});

describe("a fault with the request under way", () => {
  it.each([
    ["ECONNRESET", "cut"],
    ["EPIPE", "cut"],
    ["ETIMEDOUT", "cut"],
    ["ERR_HTTP2_SESSION_ERROR", "cut"],
    ["ERR_HTTP2_STREAM_ERROR", "cut"],
    ["HPE_INVALID_CONSTANT", "not-our-answer"],
    ["E_NEW_AND_STRANGE", "unknown"],
  ])("may have reached the server: %s", (code, kind) => {
    expect(requestFault(origin, coded(code))).toMatchObject({ kind, sent: true });
  });

  it("was not begun with only where the server says so", () => {
    expect(refusedFault(origin)).toMatchObject({ kind: "refused-stream", sent: false });
    for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR, 999]) {
      expect(resetFault(origin, code)).toMatchObject({ kind: "cut", sent: true });
    }
    expect(resetFault(origin, constants.NGHTTP2_FLOW_CONTROL_ERROR).message).toContain("FLOW_CONTROL_ERROR");
  });
});
