/**
 * What happened on the board, as a part of its state: each command's happening is in the same commit as what it
 * changed, has the command's number, and is there again after a start. So a stream of them resumes over everything
 * that can happen to a server or a connection.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { NumberedSource, Origin } from "holdfast/server";
import {
  type ChatResponse,
  ChatResponseSchema,
  type Deed,
  type Item,
  ItemSchema,
  type TailResponse,
  TailResponseSchema,
} from "./gen/board/v1/board_pb.ts";
import { type BoardState, HappeningSchema, SayingSchema, TalkSchema } from "./gen/board/v1/state_pb.ts";

/** As the schema's `keep` says. */
const happeningCountMost = 1_024;
const sayingCountMost = 200;

/** Notes what happened to an item. */
export function happened(
  state: BoardState,
  { deed, item, text = "" }: { readonly deed: Deed; readonly item: Item; readonly text?: string },
  { seq, atMs, by = "somebody" }: Origin,
): void {
  // A copy: the item goes on.
  const what = { at: timestampFromMs(atMs), by, deed, item: create(ItemSchema, { ...item }), text };
  state.happenings.push(create(HappeningSchema, { seq, what: create(TailResponseSchema, what) }));
  if (state.happenings.length > happeningCountMost) state.happenings.shift();
}

/** Notes what was said about an item. */
export function said(
  state: BoardState,
  id: string,
  text: string,
  { seq, atMs, by = "somebody" }: Origin,
): void {
  const talk = (state.talks[id] ??= create(TalkSchema));
  const what = create(ChatResponseSchema, { at: timestampFromMs(atMs), by, text });
  talk.sayings.push(create(SayingSchema, { seq, what }));
  if (talk.sayings.length > sayingCountMost) talk.sayings.shift();
}

interface Numbered<Item> {
  readonly seq: number;
  readonly what?: Item | undefined;
}

/** The part of an engine that a stream reads. */
export interface Watched {
  readonly state: BoardState;
  readonly seq: number;
  subscribe(listener: () => void): () => void;
}

/** All happenings, for `ctx.numbered`. */
export function happenings(board: Watched, after: number | undefined): NumberedSource<TailResponse> {
  return {
    ...source(board, happeningCountMost, (state) => state.happenings),
    begin: () => after ?? board.seq,
  };
}

/** How much of a talk somebody who comes to it sees first. */
const backlogCount = 20;

/** What is said about an item. */
export function talk(board: Watched, id: string): NumberedSource<ChatResponse> {
  const sayings = (state: BoardState): readonly Numbered<ChatResponse>[] => state.talks[id]?.sayings ?? [];
  return {
    ...source(board, sayingCountMost, sayings),
    begin: () => (sayings(board.state).at(-backlogCount)?.seq ?? 1) - 1,
  };
}

function source<Item>(
  board: Watched,
  countMost: number,
  read: (state: BoardState) => readonly Numbered<Item>[],
): Pick<NumberedSource<Item>, "after" | "oldest"> {
  return {
    oldest() {
      const all = read(board.state);
      return all.length < countMost ? 1 : (all[0]?.seq ?? 1);
    },
    async *after(seq, signal) {
      let last = seq;
      while (!signal.aborted) {
        const changed = next(board, signal);
        // A copy: the state goes on while the reader takes its time.
        for (const { seq: number, what } of read(board.state).filter((one) => one.seq > last)) {
          last = number;
          if (what === undefined) continue;
          yield [number, what];
        }
        await changed;
      }
    },
  };
}

/** Resolves after the next command, or when the signal aborts. Listens from this call on. */
function next(board: Watched, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      forget();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const forget = board.subscribe(done);
    signal.addEventListener("abort", done);
  });
}
