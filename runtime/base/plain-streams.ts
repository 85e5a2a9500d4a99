/**
 * What stands between a generated client and Connect's own streaming, which knows only many requests and many
 * replies: a method with one request, and a method with one reply.
 */
import { Code, ConnectError } from "@connectrpc/connect";

/** The one request of a server-streaming method, as the iterable that a transport reads. */
export async function* oneRequest<T>(request: T): AsyncIterable<T> {
  yield request;
}

/**
 * The one reply of a client-streaming method. Reads on to the end, since a call's status comes last.
 *
 * @throws ConnectError `unimplemented` for no reply and for a second one: the other end breaks the protocol.
 */
export async function onlyReply<T>(replies: AsyncIterable<T>): Promise<T> {
  const got: T[] = [];
  for await (const reply of replies) {
    if (got.length > 0) throw new ConnectError("protocol error: received extra messages", Code.Unimplemented);
    got.push(reply);
  }
  for (const reply of got) return reply;
  throw new ConnectError("protocol error: missing response message", Code.Unimplemented);
}
