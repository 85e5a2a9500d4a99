import { expect, test } from "vitest";
import * as defaults from "../../codegen/defaults.ts";
import * as constants from "../../runtime/base/constants.ts";

test("the generator's defaults are the runtime's", () => {
  expect({ ...defaults }).toEqual({
    keepCount: constants.keepCount,
    roomCount: constants.roomCount,
    idleMs: constants.streamIdleMs,
    everyMs: constants.aliveEveryMs,
    goneAfterMs: constants.goneAfterMs,
    lingerMs: constants.lingerMs,
    readyTimeoutMs: constants.readyTimeoutMs,
  });
});
