/**
 * In whose name a command is kept: the space of its call IDs, whose quota it counts against, and the tag
 * that the client gets.
 *
 * Source: design "The journal"; reliability decision D9.
 */
import { createHash, createHmac } from "node:crypto";
import type { CallerKey } from "./journal/answer.ts";
import { formatTag } from "./journal/tag.ts";
import type { StoreFacts } from "./store/store.ts";

/** What is known of who sends a request. */
export interface Sender {
  /** The authenticated principal; undefined: anonymous. */
  readonly by: string | undefined;
  /** The value of `holdfast-anon`, which tells one anonymous link from another. Ignored beside a principal. */
  readonly anon: string | undefined;
  /** The address of the connection, or what a trusted proxy says of it; undefined where there is none. */
  readonly address: string | undefined;
}

/** Bytes of a tag, and of the name of an anonymous space: enough that no two are ever the same. */
const digestBytes = 16;

/**
 * Names the sender of a command. An anonymous link's secret is hashed, so that neither the store nor a log
 * holds what another client could send. Anonymous clients without one share a space, in which an ID of 16
 * characters and more is the secret. Since a new secret costs nothing, anonymous quotas count by address.
 *
 * The hash knows no store, so that the outbox entries of an anonymous link keep their space when the epoch
 * changes; the tag does, so that nobody without the store's secret can make or compare one.
 */
export function callerKey(facts: Pick<StoreFacts, "epoch" | "secret">, sender: Sender): CallerKey {
  const space = spaceOf(sender);
  const mac = createHmac("sha256", facts.secret).update(`caller tag\0${space}`).digest();
  return {
    space,
    quota: sender.by === undefined ? `address ${sender.address ?? ""}` : space,
    tag: formatTag(facts.epoch, mac.subarray(0, digestBytes).toString("base64url")),
  };
}

/** Senders that are remembered: a few hundred bytes each, for those that have called of late. */
const rememberedCountMost = 1_024;

/** {@link callerKey} for all requests of a server: a hash and a signature are the dearest part of a small one. */
export function callerKeys(
  facts: Pick<StoreFacts, "epoch" | "secret">,
  countMost: number = rememberedCountMost,
): (sender: Sender) => CallerKey {
  const known = new Map<string, CallerKey>();
  return (sender) => {
    const name = nameOf(sender);
    const found = known.get(name);
    if (found !== undefined) return found;
    const key = callerKey(facts, sender);
    for (const oldest of known.keys()) {
      if (known.size < countMost) break;
      known.delete(oldest);
    }
    known.set(name, key);
    return key;
  };
}

/** All that a key is made of, as a text of which no two senders have the same. */
function nameOf({ by, anon, address = "" }: Sender): string {
  if (by !== undefined) return `by ${by}`;
  return anon === undefined ? `anyone ${address}` : `anon ${anon.length} ${anon} ${address}`;
}

/** The first word keeps the three kinds apart, whatever a principal is called. */
function spaceOf(sender: Sender): string {
  if (sender.by !== undefined) return `by ${sender.by}`;
  if (sender.anon === undefined) return "anyone";
  const digest = createHash("sha256").update(`anonymous space\0${sender.anon}`).digest();
  return `anon ${digest.subarray(0, digestBytes).toString("base64url")}`;
}
