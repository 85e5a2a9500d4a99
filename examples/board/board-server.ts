/** The board's server: the engine on its store, the handlers beside it, and who may call them. */
import type { Log, Server, ServerOptions, Store } from "holdfast/server";
import { createServer } from "holdfast/server";
import { Board } from "./gen/board/v1/board_holdfast.ts";
import { ItemState } from "./gen/board/v1/board_pb.ts";
import { happenings, talk } from "./happenings.ts";
import { Nudges } from "./nudges.ts";
import { presences } from "./presence.ts";
import { boardRules, findItem, who } from "./rules.ts";
import { Typing } from "./typing.ts";

/**
 * The token is the name: right for a demo on one's own machine, and for nothing else. A real server checks a
 * signature here.
 */
function nameFromToken(token: string | undefined): { by: string } | undefined {
  return token === undefined ? undefined : { by: token };
}

/** Hears of each command that ran, once it is durable; a repeat that is answered from what is kept is no run. */
export type OnRun = (method: string, callId: string | undefined) => void;

export interface BoardOptions extends ServerOptions {
  readonly store: Store;
  readonly log?: Log;
}

/** Opens the board that is in a store. */
export async function boardServer(options: BoardOptions, onRun?: OnRun): Promise<Server> {
  const { store, log } = options;
  const board = await boardRules.open(store, log === undefined ? {} : { log });
  if (onRun !== undefined) {
    board.subscribe(({ command, callId }) => onRun(command.split(".").at(-1)?.toLowerCase() ?? "", callId));
  }
  const typing = new Typing();
  const nudges = new Nudges();
  const handlers = board.handlers({
    list: ({ all }, { clock }) => {
      const shown = Object.values(board.state.items).filter((item) => all || item.state !== ItemState.CLOSED);
      const items = shown.map((item) => ({ ...item, typing: typing.on(item.id, clock.now()) }));
      return { items: items.reverse(), seq: board.seq };
    },
    typing: ({ id }, context) => {
      typing.note(findItem(board.state, id).id, who(context), context.clock.now());
      return {};
    },
    nudge: ({ id }, context) => {
      const { heldBy } = findItem(board.state, id);
      if (heldBy !== "") nudges.add(heldBy, id, who(context), context.clock.now());
      return {};
    },
    tail: ({ after }, context) => context.numbered(happenings(board, after)),
    chat: ({ id }, context) => context.numbered(talk(board, findItem(board.state, id).id)),
    alive: ({ askedUpTo }, context) => ({ asks: nudges.for(who(context), askedUpTo, context.clock.now()) }),
    who: () => ({ present: presences(server.sessions()) }),
  });
  const server = createServer({ authenticate: ({ token }) => nameFromToken(token), ...options }).implement(
    Board,
    handlers,
  );
  return server;
}
