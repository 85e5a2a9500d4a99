import { expect, it } from "vitest";
import { callerChanged, formatTag } from "./tag.ts";

it.each([
  ["the same tag", "e1.ada", false],
  ["another caller of the same epoch", "e1.ben", true],
  ["a tag of another epoch", "e2.ben", false],
  ["a text that is no tag", "rubbish", false],
  ["nothing", "", false],
  ["the same tag, which must be it", "e1.ada!", false],
  ["another caller's, which must be it", "e1.ben!", true],
  ["one of another epoch, which must be it", "e2.ada!", true],
])("%s", (_, given, changed) => {
  expect(callerChanged(given, formatTag("e1", "ada"))).toBe(changed);
});
