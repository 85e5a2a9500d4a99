/**
 * The body of an answer on its way: chunks go in at the server's end and come out at the client's, a bounded number
 * of bytes apart, as with TCP; either end may break it.
 */

export interface BodyPipe {
  /** What the client reads. */
  readonly body: AsyncIterable<Uint8Array>;
  /** A chunk has arrived. */
  arrive(chunk: Uint8Array): void;
  /** The body is whole. */
  end(): void;
  /** It breaks: the client's loop throws this after what has arrived. */
  fail(error: unknown): void;
  /** A chunk leaves the server: it counts against the window until it is read. */
  leave(chunk: Uint8Array): void;
  /** Resolves when the window has room, or nobody reads any more. */
  room(): Promise<void>;
  /** Nobody reads any more: the server need not wait. */
  release(): void;
}

/**
 * @param windowBytes - bytes that may lie between the two ends before the server has to wait for its reader.
 * @param left - the client's loop has ended before the body did.
 */
export function bodyPipe(windowBytes: number, left: () => void): BodyPipe {
  const chunks: Uint8Array[] = [];
  let ending: { readonly error: unknown } | "whole" | undefined;
  let openBytes = 0;
  let released = false;
  let wakeReader: () => void = () => undefined;
  let wakeWriter: () => void = () => undefined;

  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        openBytes -= chunk.byteLength;
        wakeWriter();
        return { done: false, value: chunk };
      }
      if (ending === "whole") return { done: true, value: undefined };
      if (ending !== undefined) throw ending.error;
      await new Promise<void>((resolve) => {
        wakeReader = resolve;
      });
    }
  };
  const close = (how: typeof ending): void => {
    ending ??= how;
    wakeReader();
    wakeWriter();
  };
  return {
    body: {
      [Symbol.asyncIterator]: () => ({
        next,
        return: async () => {
          if (ending === undefined) left();
          close("whole");
          return { done: true, value: undefined };
        },
      }),
    },
    arrive(chunk) {
      chunks.push(chunk);
      wakeReader();
    },
    end: () => close("whole"),
    fail: (error) => close({ error }),
    leave(chunk) {
      openBytes += chunk.byteLength;
    },
    async room() {
      while (openBytes >= windowBytes && ending === undefined && !released) {
        await new Promise<void>((resolve) => {
          wakeWriter = resolve;
        });
      }
    },
    release() {
      released = true;
      wakeWriter();
    },
  };
}
