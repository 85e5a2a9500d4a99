/** Durable topics beside a store in memory: they live as long as the store does. It cannot roll back. */
import type { ShelvedItem, TopicShelf } from "./shelf.ts";

interface Rows {
  lastSeq: number;
  items: ShelvedItem[];
}

const byStore = new WeakMap<object, Map<string, Rows>>();

export function memoryShelf(store: object): TopicShelf {
  const topics = byStore.get(store) ?? new Map<string, Rows>();
  byStore.set(store, topics);
  return {
    rollsBack: false,
    append(topic, bytes, keepCount) {
      const rows = topics.get(topic) ?? { lastSeq: 0, items: [] };
      topics.set(topic, rows);
      rows.lastSeq += 1;
      rows.items.push({ seq: rows.lastSeq, bytes });
      if (rows.items.length >= 2 * keepCount) rows.items = rows.items.slice(-keepCount);
      return rows.lastSeq;
    },
    read(topic, afterSeq, { countMost }) {
      const { lastSeq, items } = topics.get(topic) ?? { lastSeq: 0, items: [] };
      return { lastSeq, items: items.filter(({ seq }) => seq > afterSeq).slice(-countMost) };
    },
  };
}
