/** Entry holdfast/testing: what programs need to test what they build on holdfast. Runs in browsers too. */
export { seededRandom, type SeededRandom } from "./seeded-random.ts";
export { virtualClock, type VirtualClock } from "./virtual-clock.ts";
