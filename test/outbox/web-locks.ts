/** A browser's Web Locks, as far as an outbox asks for them: one holder a name, granted after the turn. */

interface Holder {
  readonly steal: () => void;
}

export class FakeLocks {
  readonly #held = new Map<string, Holder>();

  /** What a tab sees. A tab that is closed gives its locks back by itself. */
  tab(): { readonly locks: LockManager; close(): void } {
    const own = new Set<() => void>();
    const request = async (
      name: string,
      { ifAvailable = false, steal = false }: LockOptions,
      work: (lock: Lock | null) => unknown,
    ): Promise<unknown> => {
      if (ifAvailable && steal) throw new DOMException("not both", "NotSupportedError");
      await Promise.resolve();
      const before = this.#held.get(name);
      if (before !== undefined && ifAvailable) return work(null);
      if (before !== undefined && !steal) throw new Error("the double keeps no queue");
      before?.steal();
      const holder: Holder = { steal: () => rejectHeld(new DOMException("stolen", "AbortError")) };
      let rejectHeld: (error: unknown) => void = () => undefined;
      const stolen = new Promise<never>((_, reject) => (rejectHeld = reject));
      this.#held.set(name, holder);
      const free = (): void => {
        own.delete(free);
        if (this.#held.get(name) === holder) this.#held.delete(name);
      };
      own.add(free);
      try {
        return await Promise.race([work({ name, mode: "exclusive" }), stolen]);
      } finally {
        free();
      }
    };
    return {
      locks: { request, query: async () => ({}) } as unknown as LockManager,
      close: () => {
        for (const free of own) free();
      },
    };
  }
}
