/**
 * Was that really our server? A proxy, a hosting edge or a captive portal also answers over HTTP, and Connect
 * makes an error with a code of any of it. So this looks at what arrived before Connect does: only a
 * well-formed answer of the Connect protocol is handed on; anything else is a connection fault.
 *
 * Source: design "What counts as the server's answer".
 */
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { ConnectionFault } from "../base/connection-fault.ts";

/** A proxy says by these that the server cannot serve now, whatever stands in the body. */
const serverFaultStatuses: readonly number[] = [429, 502, 503, 504];

/** An error's body is read up to here; a longer one is not ours. */
const errorBytesMost = 1_048_576;

/**
 * The response as Connect may see it, its body read where it had to be looked at.
 *
 * @throws ConnectionFault for an answer that is not of the Connect protocol.
 */
export async function connectAnswer(
  response: UniversalClientResponse,
  streaming: boolean,
): Promise<UniversalClientResponse> {
  const type = mediaType(response.header);
  if (response.status === 200) {
    const ours = streaming ? /^application\/connect\+(proto|json)$/ : /^application\/(proto|json)$/;
    if (ours.test(type)) return response;
    throw notOurs(response.status, type);
  }
  if (serverFaultStatuses.includes(response.status)) {
    return response.status === 429 && type !== "application/json" ? tooMuch(response) : response;
  }
  if (type !== "application/json") throw notOurs(response.status, type);
  const bytes = await readAll(response);
  if (bytes === undefined || !isConnectError(bytes, response.header.get("content-encoding"))) {
    throw notOurs(response.status, type);
  }
  return { ...response, body: once(bytes) };
}

/** Connect makes `unavailable` of a proxy's 429; it means what `resource_exhausted` does, which waits longer. */
function tooMuch(response: UniversalClientResponse): UniversalClientResponse {
  const header = new Headers(response.header);
  header.set("content-type", "application/json");
  header.delete("content-encoding");
  header.delete("content-length");
  const error = { code: "resource_exhausted", message: "HTTP 429" };
  return { ...response, header, body: once(new TextEncoder().encode(JSON.stringify(error))) };
}

function mediaType(header: Headers): string {
  return (header.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function notOurs(status: number, type: string): ConnectionFault {
  const what = type === "" ? "an answer without a content type" : `an answer of type ${type}`;
  return new ConnectionFault(
    "not-our-answer",
    `HTTP ${status} with ${what}, which is no Connect answer: a proxy, a sign-in page or another server may stand between`,
    { sent: true },
  );
}

async function readAll(response: UniversalClientResponse): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > errorBytesMost) return undefined;
    chunks.push(chunk);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

function isConnectError(bytes: Uint8Array, encoding: string | null): boolean {
  // A compressed error is Connect's to read; a proxy that answers by itself does not compress JSON errors.
  if (encoding !== null && encoding !== "identity") return true;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return (
      typeof value === "object" &&
      value !== null &&
      "code" in value &&
      typeof value.code === "string" &&
      codeFromString(value.code) !== undefined
    );
  } catch {
    return false;
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
