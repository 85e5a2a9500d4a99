/** Entry holdfast/testing: what programs need to test what they build on holdfast. Runs in browsers too. */
export { seededRandom, type SeededRandom } from "./seeded-random.ts";
export {
  type DiskFate,
  simulatedDisk,
  type SimulatedDisk,
  type SimulatedDiskOptions,
  type StoreOnDisk,
} from "./simulated-disk.ts";
export type { Fate, ForeignAnswer, NetworkEvent, SimulatedRequest } from "./simulated-fate.ts";
export { simulatedFolder, type SimulatedFolder, type SimulatedFolderOptions } from "./simulated-folder.ts";
export type {
  ServedAnswer,
  ServedRequest,
  SimulatedHandler,
  SimulatedHost,
  SimulatedServer,
  StartServer,
} from "./simulated-host.ts";
export {
  simulatedNetwork,
  type SimulatedNetwork,
  type SimulatedNetworkOptions,
} from "./simulated-network.ts";
export { simulatedProcess, type SimulatedProcess } from "./simulated-process.ts";
export { testLink, type TestLink, type TestLinkOptions, testOrigin } from "./test-link.ts";
export { virtualClock, type VirtualClock } from "./virtual-clock.ts";
