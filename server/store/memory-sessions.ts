/** Sessions in memory: they last as long as the store. */
import type { KeptSession, KeptSessions } from "./kept-sessions.ts";

export function memorySessions(): KeptSessions<undefined> {
  const kept = new Map<string, KeptSession>();
  return {
    list: async () => [...kept.values()],
    async begin(session) {
      kept.set(session.id, session);
    },
    async end(id, work) {
      const result = await work(undefined);
      kept.delete(id);
      return result;
    },
  };
}
