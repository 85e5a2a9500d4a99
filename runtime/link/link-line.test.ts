import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { linkLine } from "./link-line.ts";
import type { LinkState } from "./link-state.ts";

const now = 1_000_000;
const cause = new Error("connection refused");
const down = {
  kind: "down",
  since: now - 12_000,
  host: "board.test",
  cause,
  nextTryAt: now + 2_000,
} as const;

const rows: readonly [string, LinkState, string | undefined][] = [
  ["idle", { kind: "idle" }, undefined],
  ["up", { kind: "up", since: now }, undefined],
  ["up after down", { kind: "up", since: now, downForMs: 14_200 }, "back after 14 s"],
  ["down", down, "no reply from board.test for 12 s, next try in 2 s: connection refused"],
  [
    "down, a try under way",
    { ...down, nextTryAt: undefined },
    "no reply from board.test for 12 s, trying now: connection refused",
  ],
  [
    "down, the try is due",
    { ...down, nextTryAt: now },
    "no reply from board.test for 12 s, trying now: connection refused",
  ],
  [
    "down for minutes",
    { ...down, since: now - 300_000 },
    "no reply from board.test for 5 min, next try in 2 s: connection refused",
  ],
  [
    "down for hours",
    { ...down, since: now - 10_800_000 },
    "no reply from board.test for 3 h, next try in 2 s: connection refused",
  ],
  [
    "down, the clock went back",
    { ...down, since: now + 50_000 },
    "no reply from board.test for 0 s, next try in 2 s: connection refused",
  ],
  [
    "down by a server fault, without Connect's code",
    { ...down, cause: new ConnectError("busy", Code.Unavailable) },
    "no reply from board.test for 12 s, next try in 2 s: busy",
  ],
  [
    "refused build",
    { kind: "refused", host: "board.test", reason: "BUILD_REFUSED", cause: new Error("1.2 is too old") },
    "board.test refuses this build: 1.2 is too old",
  ],
  [
    "refused sign-in",
    { kind: "refused", host: "board.test", reason: "SIGN_IN_GONE", cause },
    "board.test refuses this sign-in",
  ],
];

it.each(rows)("%s", (_, state, line) => {
  expect(linkLine(state, now)).toBe(line);
});
