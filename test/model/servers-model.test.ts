import { describe, expect, it } from "vitest";
import { type Effects, searchServers, type ServerRules, sharedRules } from "./servers-model.ts";

describe("every order of three tries at two servers with one store, a crash and a pause", () => {
  it.each<[Effects]>([["transaction"], ["external"], ["rerun"]])(
    "with all rules keeps every promise (%s)",
    (effects) => {
      const { stateCount, violations } = searchServers(effects, sharedRules);
      expect(violations).toEqual({ ranTwice: 0, ranUntrue: 0 });
      expect(stateCount).toBeGreaterThan(500); // the search did search
    },
  );

  it.each<[string, Effects, Partial<ServerRules>]>([
    ["a commit that does not find what is kept", "transaction", { commitFindsKept: false }],
    ["a commit that does not find that its call is settled", "transaction", { commitFindsSettled: false }],
    ["a claim that does not find what is kept", "external", { commitFindsKept: false }],
    ["a claim that does not find that its call is settled", "external", { commitFindsSettled: false }],
    ["a claim without a lease, where the handler runs again", "rerun", { lease: false }],
    ["a server that goes on after its lease was taken over", "rerun", { stopsItself: false }],
  ])("%s breaks promises (%s)", (_, effects, changes) => {
    const { violations } = searchServers(effects, { ...sharedRules, ...changes });
    expect(violations.ranTwice).toBeGreaterThan(0);
    expect(violations.ranUntrue).toBeGreaterThan(0);
  });
});
