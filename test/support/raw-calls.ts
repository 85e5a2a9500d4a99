/** Calls without a client library, for tests of what is really sent. */
import type { ListenAddress } from "../../server/index.ts";

const service = "/test.v1.TallyService/";

/** A Connect call in JSON over HTTP/1.1. */
export function post(
  address: ListenAddress,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${address.url}${service}${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** What an answer says of itself, and its error's code. */
export async function told(response: Response): Promise<{
  status: number;
  mark: string | null;
  server: string | null;
  code: string | undefined;
  text: string;
}> {
  const text = await response.text();
  let code: string | undefined;
  try {
    code = (JSON.parse(text) as { code?: string }).code;
  } catch {
    code = undefined;
  }
  return {
    status: response.status,
    mark: response.headers.get("holdfast-settled"),
    server: response.headers.get("holdfast-server"),
    code,
    text,
  };
}
