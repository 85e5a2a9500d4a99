import { describe, expect, it } from "vitest";
import { callerKey, callerKeys, type Sender } from "./caller-tag.ts";
import { callerChanged } from "./journal/tag.ts";

const facts = { epoch: "epochOne", secret: new Uint8Array(32).fill(1) };
const sender = { by: undefined, anon: undefined, address: "192.0.2.1" };
const secret = "s3cr3t-s3cr3t-s3cr3t";

describe("a caller's key", () => {
  it("tells principals, anonymous links and plain anonymous clients apart, whatever they are called", () => {
    const spaces = [
      { ...sender, by: "ada" },
      { ...sender, by: "ben" },
      { ...sender, by: "anyone" },
      { ...sender, by: "" },
      { ...sender, anon: secret },
      { ...sender, anon: `${secret}2` },
      sender,
    ].map((one) => callerKey(facts, one));
    expect(new Set(spaces.map(({ space }) => space)).size).toBe(spaces.length);
    expect(new Set(spaces.map(({ tag }) => tag)).size).toBe(spaces.length);
  });

  it("counts an anonymous caller's quota by address, a principal's by principal", () => {
    expect(callerKey(facts, { ...sender, anon: secret }).quota).toBe(callerKey(facts, sender).quota);
    const moved = { ...sender, address: "192.0.2.2" };
    expect(callerKey(facts, moved).quota).not.toBe(callerKey(facts, sender).quota);
    expect(callerKey(facts, { ...moved, by: "ada" }).quota).toBe(
      callerKey(facts, { ...sender, by: "ada" }).quota,
    );
  });

  it("holds no secret, and the tag holds no name", () => {
    expect(JSON.stringify(callerKey(facts, { ...sender, anon: secret }))).not.toContain(secret);
    expect(callerKey(facts, { ...sender, by: "ada" }).tag).toMatch(/^epochOne\.[A-Za-z0-9_-]{22}$/);
  });

  it("keeps its space over epochs, and a tag of another epoch is not compared", () => {
    const later = { epoch: "epochTwo", secret: new Uint8Array(32).fill(2) };
    const ada = callerKey(facts, { ...sender, by: "ada" });
    const ben = callerKey(later, { ...sender, by: "ben" });
    expect(callerKey(later, { ...sender, by: "ada" }).space).toBe(ada.space);
    expect(callerChanged(ada.tag, ben.tag)).toBe(false);
    expect(callerChanged(ada.tag, callerKey(facts, { ...sender, by: "ben" }).tag)).toBe(true);
  });
});

describe("the keys of a server's callers", () => {
  it("are those of each sender, whoever called before", () => {
    const senders: Sender[] = [
      { ...sender, by: "ada" },
      { ...sender, by: "ada", anon: secret, address: undefined },
      { ...sender, by: `anon ${secret.length} ${secret} 192.0.2.1` },
      { ...sender, anon: secret },
      { ...sender, anon: secret, address: "192.0.2.2" },
      { ...sender, anon: `${secret} 192.0.2.1`, address: "" },
      { ...sender, anon: `${secret} 192.0.2.1`, address: undefined },
      { ...sender, by: "" },
      sender,
      { ...sender, address: undefined },
    ];
    for (const countMost of [1, 3, 100]) {
      const keyOf = callerKeys(facts, countMost);
      for (const each of [...senders, ...[...senders].reverse(), ...senders])
        expect(keyOf(each)).toEqual(callerKey(facts, each));
    }
  });
});
