import { memoryStore } from "../../server/store/memory-store.ts";
import { storeSuite } from "./store-suite.ts";

storeSuite("memoryStore", async (clock) => ({
  store: memoryStore({ clock }),
  cleanUp: async () => undefined,
}));
