/** An outbox in memory: for tests, and for programs whose commands need not outlive them. */
import type { OutboxLease, OutboxStore } from "./outbox-store.ts";

/** Makes a store. Two links that are given the same one share it, as two processes share a folder. */
export function memoryOutbox(): OutboxStore {
  const kept = new Map<string, Uint8Array>();
  const setAside = new Map<string, Uint8Array>();
  let held = false;
  return {
    list: async () => [...kept].map(([name, bytes]) => ({ name, sizeBytes: bytes.byteLength })),
    read: async (name) => {
      const bytes = kept.get(name);
      return bytes === undefined ? { kind: "gone" } : { kind: "whole", bytes: bytes.slice() };
    },
    put: async (name, bytes) => {
      kept.set(name, bytes.slice());
    },
    drop: async (name) => {
      kept.delete(name);
    },
    aside: async (name) => {
      const bytes = kept.get(name);
      if (bytes !== undefined) setAside.set(name, bytes);
      kept.delete(name);
      return `${name} in memory`;
    },
    lock: async () => {
      if (held) return undefined;
      held = true;
      return leaseOf(() => {
        held = false;
      });
    },
  };
}

function leaseOf(free: () => void): OutboxLease {
  let released = false;
  return {
    lost: new AbortController().signal,
    release: async () => {
      if (!released) free();
      released = true;
    },
  };
}
