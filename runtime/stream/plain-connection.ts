/**
 * The bare rpc of a server without LinkService: its messages as they come, unnumbered, so that a stream starts
 * over after a drop and says `restarted`.
 *
 * Source: design "Calls" (links to a plain server).
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { oneRequest } from "../base/plain-streams.ts";
import { tryHeaders } from "../call/headers.ts";
import type { Followed } from "./follow-connection.ts";
import type { StreamBatch, StreamConnection, StreamDialer, StreamOpening } from "./stream-connection.ts";
import type { OwnConnections, StreamEnvironment } from "./stream-environment.ts";

export function plainDialer<I extends DescMessage, O extends DescMessage>(
  env: StreamEnvironment,
  followed: Followed<I, O>,
): StreamDialer<MessageShape<O>> {
  let own: OwnConnections | undefined;
  const closeOwn = (): void => {
    own?.close();
    own = undefined;
  };
  return {
    open: (opening) => {
      own ??= env.openOwn();
      return plainConnection(env, followed, opening, own, closeOwn);
    },
    close: closeOwn,
  };
}

function plainConnection<I extends DescMessage, O extends DescMessage>(
  env: StreamEnvironment,
  { definition, request, headers, contextValues, onHeader, onTrailer }: Followed<I, O>,
  { token, signal, onByte }: StreamOpening<MessageShape<O>>,
  own: OwnConnections,
  closeOwn: () => void,
): StreamConnection<MessageShape<O>> {
  const { transport, http } = own.begin(() => onByte(env.clock.monotonic()));
  let items: AsyncIterator<MessageShape<O>, undefined> | undefined;
  let trailer = (): void => undefined;
  const open = async (): Promise<void> => {
    const all = tryHeaders(headers, env, token);
    const input = oneRequest(request);
    const answer = await transport.stream(definition.method, signal, undefined, all, input, contextValues);
    env.heard(answer.header, token);
    onHeader?.(answer.header);
    trailer = () => onTrailer?.(answer.trailer);
    items = answer.message[Symbol.asyncIterator]();
  };
  return {
    async next(): Promise<StreamBatch<MessageShape<O>>> {
      if (items === undefined) {
        await open();
        return { messages: [{ kind: "ready", at: undefined, restarted: false }], byteCount: 0 };
      }
      const { done, value } = await items.next();
      if (done !== true) return { messages: [{ kind: "item", seq: 0, item: value }], byteCount: 0 };
      trailer();
      const end = { kind: "end", again: false, afterMs: 0, lagged: false, error: undefined } as const;
      return { messages: [end], byteCount: 0 };
    },
    http,
    probe: own.reach,
    close(broken) {
      items?.return?.().catch(() => undefined);
      if (broken) closeOwn();
    },
  };
}
