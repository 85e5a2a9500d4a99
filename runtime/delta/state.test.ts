import { create, type MessageShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  DocumentContentSchema,
  EntryListSchema,
  EntrySchema,
} from "../../test/objects/gen/test/objects/v1/notebook_pb.ts";
import type { StateSource } from "../base/objects.ts";
import type { Change } from "./operation.ts";
import { isState, state } from "./state.ts";

type Content = MessageShape<typeof DocumentContentSchema>;

function heard(member: ReturnType<typeof state<typeof DocumentContentSchema>>): Change<Content>[] {
  const changes: Change<Content>[] = [];
  (member.source as StateSource<Content, Change<Content>>).subscribe((change) => changes.push(change));
  return changes;
}

describe("a state", () => {
  it("begins as what it is given, or as the empty message, at version 1", () => {
    expect(state(DocumentContentSchema, { text: "a" }).value.text).toBe("a");
    expect(state(DocumentContentSchema).value.text).toBe("");
    expect(state(DocumentContentSchema).source.version).toBe(1);
  });

  it("tells each change with the new value and one more version", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const changes = heard(member);
    member.update((draft) => void (draft.text += "b"));
    member.replace(create(DocumentContentSchema, { text: "c" }));
    expect(changes).toMatchObject([
      { kind: "value", version: 2, value: { text: "ab" }, operations: [{ kind: "append", text: "b" }] },
      { kind: "value", version: 3, value: { text: "c" }, operations: undefined },
    ]);
  });

  it("says nothing of an update that changes nothing", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const changes = heard(member);
    member.update((draft) => void (draft.text = "a"));
    member.update(() => undefined);
    member.replace(member.value);
    expect(changes).toEqual([]);
    expect(member.source.version).toBe(1);
  });

  it("is as before when an update throws", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const changes = heard(member);
    const failing = (): void =>
      member.update((draft) => {
        draft.text = "b";
        throw new RangeError("no");
      });
    expect(failing).toThrow(RangeError);
    expect(member.value.text).toBe("a");
    member.update((draft) => void (draft.text = "c"));
    expect(changes).toHaveLength(1);
  });

  it("throws for a change beside a draft", () => {
    const member = state(EntryListSchema, { entries: [create(EntrySchema, { id: 1 })] });
    expect(() => member.value.entries.push(create(EntrySchema))).toThrow(TypeError);
    member.update((draft) => draft.entries.push(create(EntrySchema, { id: 2 })));
    expect(() => (member.value.entries[1]!.id = 3)).toThrow(TypeError);
  });

  it("names the field of a value that does not fit, and stays as it was", () => {
    const member = state(EntryListSchema, { entries: [] });
    const plain = { id: 1, text: "milk" } as MessageShape<typeof EntrySchema>;
    expect(() => member.update((draft) => draft.entries.push(plain))).toThrow(
      /EntryList\.entries: expected a test\.objects\.v1\.Entry, got an object\. Make it with create/,
    );
    const half = create(EntrySchema, { id: 1.5 });
    expect(() => member.update((draft) => draft.entries.push(half))).toThrow(
      /entries\.id: expected an integer/,
    );
    expect(member.value.entries).toEqual([]);
    expect(member.source.version).toBe(1);
  });

  it("refuses an update inside its own update, and one that is async", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    expect(() => member.update(() => member.replace(create(DocumentContentSchema)))).toThrow(
      /inside its own update/,
    );
    const late = (async (draft: Content) => void (draft.text = "b")) as (draft: Content) => void;
    expect(() => member.update(late)).toThrow(/not async/);
    expect(member.value.text).toBe("a");
  });

  it("tells everybody of one change before the change that a listener makes", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const source = member.source as StateSource<Content, Change<Content>>;
    source.subscribe((change) => {
      if (change.version === 2) member.update((draft) => void (draft.text = "c"));
    });
    const changes = heard(member);
    member.update((draft) => void (draft.text = "b"));
    expect(changes.map(({ version }) => version)).toEqual([2, 3]);
  });

  it("has no changes any more when it has failed", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const changes = heard(member);
    const cause = new Error("the disk is gone");
    member.fail(cause);
    expect(changes).toEqual([{ kind: "failed", version: 2, failure: cause }]);
    expect(() => member.update(() => undefined)).toThrow(/has failed/);
    expect(member.source.failure).toBe(cause);
  });

  it("is told from everything else", () => {
    expect(isState(state(DocumentContentSchema))).toBe(true);
    expect(isState({ value: 1, source: {} })).toBe(false);
  });
});
