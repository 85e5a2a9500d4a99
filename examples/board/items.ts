/**
 * The board's own rules: what may be done with an item, by whom. It knows nothing of calls: that each command
 * runs once is holdfast's business, so that these can be plain functions.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "holdfast";
import { type Item, ItemSchema, ItemState } from "./gen/board/v1/board_pb.ts";

const titleLengthMost = 200;
/** Somebody who stops typing says nothing; after this the board takes it for done. */
const typingMs = 5_000;

export class Items {
  readonly #items = new Map<string, Item>();
  readonly #typing = new Map<string, { readonly by: string; readonly until: number }>();
  #count = 0;

  list(all: boolean, nowMs: number): Item[] {
    const shown = [...this.#items.values()].filter((item) => all || item.state !== ItemState.CLOSED);
    return shown.reverse().map((item) => {
      const typing = this.#typing.get(item.id);
      return { ...item, typing: typing !== undefined && typing.until > nowMs ? typing.by : "" };
    });
  }

  post(title: string, by: string, nowMs: number): Item {
    const text = title.trim();
    if (text === "" || text.length > titleLengthMost) {
      throw new ConnectError(`a title has 1 to ${titleLengthMost} characters`, Code.InvalidArgument);
    }
    this.#count += 1;
    return this.#put(
      create(ItemSchema, {
        id: `issue-${this.#count}`,
        title: text,
        state: ItemState.OPEN,
        postedBy: by,
        postedAt: timestampFromMs(nowMs),
      }),
    );
  }

  claim(id: string, by: string): Item {
    const item = this.#find(id);
    if (item.state === ItemState.CLOSED) throw refusal(`${id} is closed`);
    if (item.state === ItemState.CLAIMED && item.heldBy !== by)
      throw refusal(`${id} is held by ${item.heldBy}`);
    return this.#put({ ...item, state: ItemState.CLAIMED, heldBy: by });
  }

  release(id: string, by: string): Item {
    return this.#put({ ...this.#held(id, by), state: ItemState.OPEN, heldBy: "" });
  }

  close(id: string, by: string): Item {
    return this.#put({ ...this.#held(id, by), state: ItemState.CLOSED });
  }

  typing(id: string, by: string, nowMs: number): void {
    this.#find(id);
    this.#typing.set(id, { by, until: nowMs + typingMs });
  }

  #held(id: string, by: string): Item {
    const item = this.#find(id);
    if (item.state !== ItemState.CLAIMED) throw refusal(`${id} is not claimed`);
    if (item.heldBy !== by) throw refusal(`${id} is held by ${item.heldBy}`);
    return item;
  }

  #find(id: string): Item {
    const item = this.#items.get(id);
    if (item === undefined) throw new ConnectError(`there is no ${id}`, Code.NotFound);
    return item;
  }

  #put(item: Item): Item {
    this.#items.set(item.id, item);
    return item;
  }
}

/** A "no" that is the same next time, so that it is kept as the command's outcome. */
function refusal(text: string): ConnectError {
  return new ConnectError(text, Code.FailedPrecondition);
}
