import { objectSuite } from "./suite.ts";
import { worlds } from "./world.ts";

for (const world of worlds) objectSuite(world);
