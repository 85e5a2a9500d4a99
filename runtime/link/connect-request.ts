/** What a request of the Connect protocol has, of one message or of many. */
import type { Interceptor } from "@connectrpc/connect";

/** @param given - headers of this try alone, which are taken over. */
export function connectHeaders(given: HeadersInit | undefined, contentType: string): Headers {
  const header = given instanceof Headers ? given : new Headers(given);
  header.set("content-type", contentType);
  header.set("connect-protocol-version", "1");
  return header;
}

/** The program's interceptors around what sends, the first one outermost. */
export function around<Next>(interceptors: readonly Interceptor[], next: Next): Next {
  return interceptors.reduceRight<Next>(
    (inner, interceptor) => interceptor(inner as Parameters<Interceptor>[0]) as Next,
    next,
  );
}
