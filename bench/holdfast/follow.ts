/** How the clients of the benchmarks follow streams, states and many references. */
import type { ResumableStream } from "holdfast";
import type { Held } from "../peer.ts";
import type { PageReference } from "../load/gen/bench/load/v1/load_holdfast.ts";

/** Reads a stream on, and resolves once the server has said that it is open. */
export async function opened<T>(stream: ResumableStream<T>, heard: (count: number) => void): Promise<void> {
  const reading = (async () => {
    for await (const item of stream) heard(item === undefined ? 0 : 1);
  })();
  reading.catch((error: unknown) => {
    throw error; // a stream that ends here ends the process, which the parent sees
  });
  for await (const { kind } of stream.state) if (kind === "open") return;
}

/** Hears each new value of a page, and resolves once it has the first. */
export async function watched(page: PageReference, heard: () => void): Promise<void> {
  await allLive([page]);
  page.content.subscribe(() => heard());
}

/** Calls `live` each time that the last of many references has become live. */
export async function held(pages: readonly PageReference[], live: () => void): Promise<Held> {
  let liveCount = 0;
  for (const { $state } of pages) {
    let wasLive = false;
    const look = (): void => {
      const isLive = $state.value.kind === "live";
      if (isLive === wasLive) return;
      wasLive = isLive;
      liveCount += isLive ? 1 : -1;
      if (liveCount === pages.length) live();
    };
    $state.subscribe(look);
    look();
  }
  await allLive(pages);
  const [first] = pages;
  return { write: async (text) => (await first?.write({ text }))?.id ?? Number.NaN };
}

async function allLive(pages: readonly PageReference[]): Promise<void> {
  for (const { $state } of pages) {
    if ($state.value.kind === "live") continue;
    for await (const { kind } of $state) if (kind === "live") break;
  }
}
