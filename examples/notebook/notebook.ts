/** One notebook: what the server makes for a session when somebody holds it first. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "holdfast";
import { state } from "holdfast/server";
import type { NotebookObject } from "./gen/notebook/v1/notebook_holdfast.ts";
import { type Entry, EntryListSchema, EntrySchema } from "./gen/notebook/v1/notebook_pb.ts";

const textLengthMost = 1_000;

/** It is in memory alone: it lives while somebody holds it, and for the linger of its schema after that. */
export function emptyNotebook(): NotebookObject {
  const entries = state(EntryListSchema, { entries: [] });
  let lastId = 0;
  return {
    entries,
    add({ text }) {
      const entry = create(EntrySchema, { id: lastId + 1, text: checked(text) });
      lastId = entry.id;
      entries.update((draft) => draft.entries.push(entry));
      return { id: entry.id };
    },
    edit({ id, text }) {
      const newText = checked(text);
      entries.update((draft) => {
        // A draft notes what is changed in it, so the new text goes to the holders and not the list.
        find(draft.entries, id).text = newText;
      });
      return {};
    },
    remove({ id }) {
      entries.update((draft) => draft.entries.splice(draft.entries.indexOf(find(draft.entries, id)), 1));
      return {};
    },
  };
}

/** @throws ConnectError not_found, which the caller gets as it is. */
function find(entries: readonly Entry[], id: number): Entry {
  const entry = entries.find((one) => one.id === id);
  if (entry === undefined) throw new ConnectError(`there is no entry ${id}`, Code.NotFound);
  return entry;
}

/** @throws ConnectError invalid_argument */
function checked(given: string): string {
  const text = given.trim();
  if (text !== "" && text.length <= textLengthMost) return text;
  throw new ConnectError(`an entry has 1 to ${textLengthMost} characters`, Code.InvalidArgument);
}
