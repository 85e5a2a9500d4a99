/**
 * Connect's own streaming on a link: without resume, budget or repeat. It shares the link's sign-in, its
 * connections and its state.
 *
 * Source: design "Annotations" (methods without one).
 */
import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { faultIn } from "../base/connection-fault.ts";
import type { PlainStreamer } from "../base/definition.ts";
import { HoldfastError, reasonError, reasonFrom } from "../base/errors.ts";
import { onAbort } from "../base/signals.ts";
import type { PlainStreamOptions } from "../base/streams.ts";
import type { CallEnvironment, TryConnection } from "../call/call-environment.ts";
import { tryHeaders } from "../call/headers.ts";
import { errorEnd } from "../call/outcome.ts";
import type { LinkEnvironment } from "./link-environment.ts";
import { httpStreamTry } from "./stream-transport.ts";

/** Opens plain streams; generated definitions name it. */
export const connectStreaming: PlainStreamer = {
  open: ({ env }: { readonly env: LinkEnvironment }, definition, requests, options) =>
    plainStream(env, definition.method, requests, options),
};

async function* plainStream<I extends DescMessage, O extends DescMessage>(
  env: LinkEnvironment,
  method: DescMethodStreaming<I, O>,
  requests: AsyncIterable<MessageInitShape<I>>,
  options: PlainStreamOptions = {},
): AsyncGenerator<MessageShape<O>, void> {
  // Leaving the loop, the caller's abort and the link's end all cut the connection.
  const cut = new AbortController();
  const forgetCaller = onAbort(options.signal, () => cut.abort(reasonError("ABORTED", undefined, aborted)));
  const forgetLink = onAbort(env.ending, (reason) => cut.abort(reason));
  const connection = env.streamConnection(httpStreamTry);
  let token: string | undefined;
  try {
    token = await env.signIn.token(cut.signal);
    const headers = tryHeaders(options.headers, env, token);
    const { transport } = connection;
    const response = await transport.stream(
      method,
      cut.signal,
      undefined,
      headers,
      requests,
      options.contextValues,
    );
    env.heard(response.header, token);
    options.onHeader?.(response.header);
    env.answered();
    yield* response.message;
    options.onTrailer?.(response.trailer);
  } catch (error) {
    if (cut.signal.aborted) throw cut.signal.reason;
    throw streamError(env, connection, error, token);
  } finally {
    forgetCaller();
    forgetLink();
    cut.abort();
  }
}

const aborted = { outcome: "unknown", tries: 1, progress: "sent" } as const;

function streamError(
  env: CallEnvironment,
  connection: Pick<TryConnection, "http" | "fault">,
  error: unknown,
  token: string | undefined,
): unknown {
  if (error instanceof ConnectError) env.heard(error.metadata, token);
  const facts = { once: false, server: env.server, seen: env.seen, http: connection.http() };
  env.tryEnded(errorEnd(error, facts), undefined);
  const fault = faultIn(error);
  if (fault !== undefined) {
    connection.fault();
    const outcome = fault.sent ? "unknown" : "not-run";
    return reasonError("NO_REPLY", fault.message, { outcome, tries: 1, progress: "sent", cause: fault });
  }
  if (!(error instanceof ConnectError)) return error;
  return new HoldfastError(error.rawMessage, {
    code: error.code,
    metadata: error.metadata,
    details: error.details,
    cause: error,
    reason: reasonFrom(error),
    outcome: "refused",
    tries: 1,
    progress: "answered",
  });
}
