/** The board's server: its handlers, and who may call them. */
import type { HandlerContext, Server, ServerOptions } from "holdfast/server";
import { createServer } from "holdfast/server";
import { Board } from "./gen/board/v1/board_holdfast.ts";
import { Items } from "./items.ts";

/**
 * The token is the name: right for a demo on one's own machine, and for nothing else. A real server checks a
 * signature here.
 */
function nameFromToken(token: string | undefined): { by: string } | undefined {
  return token === undefined ? undefined : { by: token };
}

function who(context: HandlerContext): string {
  return context.caller.by ?? "somebody";
}

/** Hears of each run of a command's handler; a repeat that is answered from the journal is no run. */
export type OnRun = (method: string, callId: string | undefined) => void;

export function boardServer(options: ServerOptions = {}, onRun: OnRun = () => undefined): Server {
  const items = new Items();
  const server = createServer({ authenticate: ({ token }) => nameFromToken(token), ...options });
  return server.implement(Board, {
    list: ({ all }, context) => ({ items: items.list(all, context.clock.now()) }),
    post: ({ title }, context) => {
      onRun("post", context.callId);
      return { item: items.post(title, who(context), context.clock.now()) };
    },
    claim: ({ id }, context) => {
      onRun("claim", context.callId);
      return { item: items.claim(id, who(context)) };
    },
    release: ({ id }, context) => {
      onRun("release", context.callId);
      return { item: items.release(id, who(context)) };
    },
    close: ({ id }, context) => {
      onRun("close", context.callId);
      return { item: items.close(id, who(context)) };
    },
    typing: ({ id }, context) => {
      items.typing(id, who(context), context.clock.now());
      return {};
    },
  });
}
