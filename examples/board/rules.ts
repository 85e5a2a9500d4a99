/**
 * The board's own rules, as an engine's: what may be done with an item, by whom, and what follows. They know
 * nothing of calls, stores or crashes; that each command runs once and that the state comes back after a start is
 * holdfast's business.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "holdfast";
import { engine, type HandleContext } from "holdfast/server";
import { Board } from "./gen/board/v1/board_holdfast.ts";
import { Deed, type Item, ItemSchema, ItemState } from "./gen/board/v1/board_pb.ts";
import {
  type BoardState,
  BoardStateSchema,
  ClaimedSchema,
  ClosedSchema,
  PostedSchema,
  ReleasedSchema,
  SaidSchema,
} from "./gen/board/v1/state_pb.ts";
import { happened, said } from "./happenings.ts";

const titleLengthMost = 200;
const sayingLengthMost = 1_000;

export function who({ caller }: Pick<HandleContext, "caller">): string {
  return caller.by ?? "somebody";
}

export const boardRules = engine(Board, {
  state: BoardStateSchema,
  records: [PostedSchema, ClaimedSchema, ReleasedSchema, ClosedSchema, SaidSchema],
  commands: {
    post: {
      handle(state, { title }) {
        const text = checked("a title", title, titleLengthMost);
        return { records: [create(PostedSchema, { id: `issue-${state.postedCount + 1}`, title: text })] };
      },
      reply: (state, { records }) => itemOf(state, records[0]?.id),
    },
    claim: {
      note: "",
      handle(state, { id }, context) {
        const item = findItem(state, id);
        if (item.state === ItemState.CLOSED) throw refusal(`${id} is closed`);
        if (item.state === ItemState.OPEN) return { records: [create(ClaimedSchema, { id })] };
        if (item.heldBy !== who(context)) throw refusal(`${id} is held by ${item.heldBy}`);
        return { note: "it was yours already" };
      },
      reply: (state, { request, note }) => ({ ...itemOf(state, request.id), note }),
    },
    release: {
      handle(state, { id }, context) {
        mustHold(state, id, context);
        return { records: [create(ReleasedSchema, { id })] };
      },
      reply: (state, { request }) => itemOf(state, request.id),
    },
    close: {
      handle(state, { id }, context) {
        mustHold(state, id, context);
        return { records: [create(ClosedSchema, { id })] };
      },
      reply: (state, { request }) => itemOf(state, request.id),
    },
    say: {
      handle(state, { id, text }) {
        findItem(state, id);
        return {
          records: [create(SaidSchema, { id, text: checked("what is said", text, sayingLengthMost) })],
        };
      },
      reply: () => ({}),
    },
  },
  apply(state, record, origin) {
    const { by = "somebody", atMs } = origin;
    if (record.$typeName === "board.v1.Posted") {
      state.postedCount += 1;
      state.items[record.id] = create(ItemSchema, {
        id: record.id,
        title: record.title,
        state: ItemState.OPEN,
        postedBy: by,
        postedAt: timestampFromMs(atMs),
      });
      happened(state, { deed: Deed.POSTED, item: findItem(state, record.id) }, origin);
      return;
    }
    const item = findItem(state, record.id);
    let deed: Deed;
    switch (record.$typeName) {
      case "board.v1.Claimed":
        deed = Deed.CLAIMED;
        item.state = ItemState.CLAIMED;
        item.heldBy = by;
        break;
      case "board.v1.Released":
        deed = Deed.RELEASED;
        item.state = ItemState.OPEN;
        item.heldBy = "";
        break;
      case "board.v1.Closed":
        deed = Deed.CLOSED;
        item.state = ItemState.CLOSED;
        break;
      case "board.v1.Said":
        said(state, record.id, record.text, origin);
        happened(state, { deed: Deed.SAID, item, text: record.text }, origin);
        return;
    }
    happened(state, { deed, item }, origin);
  },
});

/** @throws ConnectError invalid_argument */
function checked(what: string, given: string, lengthMost: number): string {
  const text = given.trim();
  if (text !== "" && text.length <= lengthMost) return text;
  throw new ConnectError(`${what} has 1 to ${lengthMost} characters`, Code.InvalidArgument);
}

/** @throws ConnectError not_found */
export function findItem(state: BoardState, id: string): Item {
  const item = state.items[id];
  if (item === undefined) throw new ConnectError(`there is no ${id}`, Code.NotFound);
  return item;
}

function itemOf(state: BoardState, id: string | undefined): { item?: Item } {
  const item = id === undefined ? undefined : state.items[id];
  return item === undefined ? {} : { item };
}

function mustHold(state: BoardState, id: string, context: HandleContext): void {
  const item = findItem(state, id);
  if (item.state !== ItemState.CLAIMED) throw refusal(`${id} is not claimed`);
  if (item.heldBy !== who(context)) throw refusal(`${id} is held by ${item.heldBy}`);
}

function refusal(text: string): ConnectError {
  return new ConnectError(text, Code.FailedPrecondition);
}
