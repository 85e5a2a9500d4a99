import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryStore } from "../../server/store/memory-store.ts";
import { sessionsSuite } from "./sessions-suite.ts";
import { type StoreUnderTest, storeSuite } from "./store-suite.ts";

const inMemory = async (clock: VirtualClock): Promise<StoreUnderTest> => ({
  store: memoryStore({ clock }),
  cleanUp: async () => undefined,
});
storeSuite("memoryStore", inMemory);
sessionsSuite("memoryStore", inMemory);
