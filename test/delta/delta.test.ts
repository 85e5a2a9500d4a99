/** What a state says of its changes leads every replica to the same value, whatever changed, in both codecs. */
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { createJsonCodec, createMsgpackCodec, type Codec, type Plain } from "holdfast/codec";
import { describe, expect, it, vi } from "vitest";
import type { StateMember, StateSource } from "../../runtime/base/objects.ts";
import { readChange, readValue } from "../../runtime/delta/from-wire.ts";
import { joinChanges } from "../../runtime/delta/join.ts";
import type { Change } from "../../runtime/delta/operation.ts";
import { state } from "../../runtime/delta/state.ts";
import { shapedChange, shapedValue } from "../../runtime/delta/to-wire.ts";
import { fromLinkError, toLinkError } from "../../runtime/wire/link-error.ts";
import { payloadOfPlain } from "../../runtime/wire/packet.ts";
import { Chance } from "../codec/chance.ts";
import { anyTypes, kitchenRegistry as registry, kitchenTypes } from "../codec/kitchen.ts";
import { randomMessage } from "../codec/random-message.ts";
import { expectSame } from "../codec/same-message.ts";
import {
  DocumentContentSchema,
  EntryListSchema,
  EntrySchema,
} from "../objects/gen/test/objects/v1/notebook_pb.ts";
import { randomUpdate } from "./random-update.ts";

const codecs = [createJsonCodec({ registry }), createMsgpackCodec({ registry })];

const writeError = (failure: Error): ReturnType<typeof toLinkError> =>
  toLinkError(ConnectError.from(failure));

function packed(codec: Codec, plain: Plain): Uint8Array {
  return codec.pack(plain);
}

/** A holder far away: it has what it was given, and applies what comes. */
class FarReplica {
  readonly codec: Codec;
  readonly desc: DescMessage;
  version: number;
  value: Message | undefined;
  bytes = 0;

  constructor(codec: Codec, source: StateSource<Message>) {
    this.codec = codec;
    this.desc = source.schema;
    this.version = source.version;
    this.value = this.#trip(source.value);
  }

  take(change: Change): void {
    const bytes = packed(this.codec, shapedChange(this.codec, this.desc, change, writeError));
    this.bytes += bytes.length;
    const read = readChange(this.codec, this.desc, this.codec.unpack(bytes), this, fromLinkError);
    this.version = read.version;
    this.value = read.kind === "value" ? read.value : undefined;
  }

  expectValue(expected: Message, hint: string): void {
    expectSame(this.value, this.#trip(expected), hint);
  }

  /** What a codec makes of it: other forms of the same, such as text for a long. */
  #trip(value: Message): Message {
    const bytes = packed(this.codec, shapedValue(this.codec, this.desc, value));
    return readValue(this.codec, this.desc, payloadOfPlain(this.codec.unpack(bytes)));
  }
}

function changesOf(member: StateMember<Message>): Change[] {
  const changes: Change[] = [];
  (member.source as StateSource<Message, Change>).subscribe((change) => changes.push(change));
  return changes;
}

const divisibleTypes = kitchenTypes.filter((desc) => !desc.typeName.startsWith("google."));

describe.each(divisibleTypes.map((desc) => ({ name: desc.typeName, desc })))("$name", ({ desc }) => {
  it("comes to every replica as it is, after any updates, singly and joined", () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 30 }), (seed) => {
        const chance = new Chance(seed);
        const first = randomMessage(desc, chance, { anyTypes, registry, depth: 3 });
        const member = state<DescMessage>(desc, first);
        const source = member.source as StateSource<Message, Change>;
        const near = codecs.map((codec) => new FarReplica(codec, source));
        const slow = codecs.map((codec) => new FarReplica(codec, source));
        const changes = changesOf(member);
        for (let round = 0; round < 4; round++) {
          member.update((draft) => randomUpdate(desc, draft, chance));
        }
        for (const replica of near) {
          for (const change of changes) replica.take(change);
          replica.expectValue(member.value, `seed ${seed}, ${replica.codec.name}`);
        }
        if (changes.length === 0) return;
        const joined = changes.reduce((before, after) => joinChanges(before, after));
        for (const replica of slow) {
          replica.take(joined);
          replica.expectValue(member.value, `seed ${seed}, ${replica.codec.name}, joined`);
        }
      }),
      { numRuns: desc.typeName === "codec.v1.KitchenSink" ? 6 : 25, seed: 20_261 },
    );
  });
});

describe.each(codecs)("in $name", (codec) => {
  it("a text that grows costs its new bytes alone", () => {
    const member = state(DocumentContentSchema, { text: "word ".repeat(20_000) });
    const replica = new FarReplica(codec, member.source);
    const changes = changesOf(member);
    for (let token = 0; token < 100; token++) member.update((draft) => void (draft.text += "token "));
    for (const change of changes) replica.take(change);
    expect(replica.value).toEqual(member.value);
    expect(replica.bytes / 100).toBeLessThan(80);
  });

  it("an entry that was added costs no more in a long list than in a short one", () => {
    const entries = Array.from({ length: 1_000 }, (_, id) => create(EntrySchema, { id, text: "milk" }));
    const member = state(EntryListSchema, { entries });
    const replica = new FarReplica(codec, member.source);
    const changes = changesOf(member);
    member.update((draft) => draft.entries.push(create(EntrySchema, { id: 1_000, text: "eggs" })));
    member.update((draft) => void draft.entries.unshift(draft.entries.pop()!));
    member.update((draft) => void (draft.entries[500]!.text = "bread"));
    for (const change of changes) replica.take(change);
    replica.expectValue(member.value, "after three changes");
    expect(replica.bytes).toBeLessThan(420);
  });

  it("what did not change is the same object as before", () => {
    const entries = Array.from({ length: 10 }, (_, id) => create(EntrySchema, { id }));
    const member = state(EntryListSchema, { entries });
    const replica = new FarReplica(codec, member.source);
    const changes = changesOf(member);
    const before = (replica.value as typeof member.value).entries;
    member.update((draft) => void (draft.entries[3]!.text = "milk"));
    for (const change of changes) replica.take(change);
    const after = (replica.value as typeof member.value).entries;
    expect(after.map((entry, at) => entry === before[at])).toEqual(after.map((_, at) => at !== 3));
    expect(after[3]).toMatchObject({ id: 3, text: "milk" });
    expect(Object.isFrozen(after) && Object.isFrozen(after[3])).toBe(true);
  });

  it("a second holder costs no second encoding", () => {
    const shape = vi.fn(codec.shape.bind(codec));
    const counting: Codec = Object.assign(Object.create(codec) as Codec, { shape });
    const member = state(DocumentContentSchema, { text: "a" });
    const changes = changesOf(member);
    member.update((draft) => void (draft.text += "b"));
    const first = shapedChange(counting, DocumentContentSchema, changes[0]!, writeError);
    const count = shape.mock.calls.length;
    expect(shapedChange(counting, DocumentContentSchema, changes[0]!, writeError)).toBe(first);
    expect(shapedValue(counting, DocumentContentSchema, member.value)).toBe(
      shapedValue(counting, DocumentContentSchema, member.value),
    );
    expect(shape.mock.calls.length).toBe(count + 1);
  });

  it("a failed state has no value any more", () => {
    const member = state(DocumentContentSchema, { text: "a" });
    const replica = new FarReplica(codec, member.source);
    const changes = changesOf(member);
    member.fail(new ConnectError("the disk is gone"));
    replica.take(changes[0]!);
    expect(replica.value).toBeUndefined();
    expect(replica.version).toBe(2);
  });

  it("a change that does not fit the replica is refused", () => {
    const member = state(EntryListSchema, { entries: [create(EntrySchema, { id: 1 })] });
    const ahead = new FarReplica(codec, member.source);
    const changes = changesOf(member);
    member.update((draft) => void (draft.entries[0]!.text = "milk"));
    member.update((draft) => void draft.entries.splice(0, 1));
    const empty = new FarReplica(codec, state(EntryListSchema).source);
    expect(() => empty.take(changes[0]!)).toThrow(/entries\[0\], which is not there/);
    for (const change of changes) ahead.take(change);
    expect(() => ahead.take(changes[1]!)).toThrow("a change to version 3 of a state that is at 3");
  });
});
