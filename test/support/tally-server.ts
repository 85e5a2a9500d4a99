/** A small server with every kind of method, for tests that need one on a real port. */
import { type Clock, systemClock } from "../../runtime/base/clock.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { createServer, memoryStore, type Server, type ServerOptions } from "../../server/index.ts";
import type { ListenAddress, ListenOptions } from "../../server/index.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";

/** What the handlers did. */
export interface Count {
  total: bigint;
  runs: number;
}

export interface TallyServer extends AsyncDisposable {
  readonly server: Server;
  readonly address: ListenAddress;
  readonly count: Count;
}

/** Handlers that count; some of them replaced. */
export function tallyHandlers(count: Count, replaced: Partial<TallyHandlers> = {}): TallyHandlers {
  const add = ({ amount }: { readonly amount: bigint }): { total: bigint } => {
    count.runs += 1;
    count.total += amount;
    return { total: count.total };
  };
  return {
    read: ({ text }) => ({ total: count.total, text }),
    add: (request) => ({ ...add(request), text: request.text }),
    addOnlyWithId: add,
    addAtMostOnce: add,
    nudge: () => ({}),
    beat: () => ({}),
    async *follow({ count: items }) {
      for (let number = 1n; number <= items; number += 1n) yield { number };
    },
    async *chat(requests) {
      for await (const { text } of requests) yield { text };
    },
    async sum(requests) {
      let total = 0n;
      for await (const { amount } of requests) total += amount;
      return { total };
    },
    ...replaced,
  };
}

/**
 * A memory store refuses what may have been sent before its start, and a call of the first moments is told from
 * such a one only as well as the answer was quick. Tests start servers all the time, on a busy machine: theirs
 * began a minute ago.
 */
const aMinuteBehind: Clock = { ...systemClock, now: () => systemClock.now() - 60_000 };

/** Starts a server on a free port of the loopback address. */
export async function startTally(
  options: ServerOptions & {
    readonly handlers?: Partial<TallyHandlers>;
    readonly tls?: ListenOptions["tls"];
  } = {},
): Promise<TallyServer> {
  const { handlers, tls, ...rest } = options;
  const store = options.store ?? memoryStore({ clock: aMinuteBehind, random: systemRandom });
  const count = { total: 0n, runs: 0 };
  const server = createServer({ ...rest, store }).implement(Tally, tallyHandlers(count, handlers));
  const address = await server.listen({ host: "127.0.0.1", port: 0, ...(tls === undefined ? {} : { tls }) });
  return { server, address, count, [Symbol.asyncDispose]: () => server.close({ within: 0 }) };
}
