import { expect } from "vitest";

/**
 * Two messages, or parts of them, that no program can tell apart: same prototypes, same members,
 * same values to the sign of zero.
 */
export function expectSame(actual: unknown, expected: unknown, path = "message"): void {
  if (typeof expected !== "object" || expected === null) {
    if (!Object.is(actual, expected)) expect.fail(`${path}: ${String(actual)} is not ${String(expected)}`);
    return;
  }
  if (typeof actual !== "object" || actual === null) expect.fail(`${path}: ${String(actual)} is no object`);
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected))
    expect.fail(`${path}: another prototype`);
  if (expected instanceof Uint8Array) {
    expect(Array.from(actual as Uint8Array), path).toEqual(Array.from(expected));
    return;
  }
  const keys = membersOf(expected);
  expect(membersOf(actual), path).toEqual(keys);
  for (const key of keys) {
    expectSame(
      (actual as Record<string, unknown>)[key],
      (expected as Record<string, unknown>)[key],
      `${path}.${key}`,
    );
  }
}

/** Their order is not compared: fromBinary has it as the fields came, the codecs as the schema has it. */
function membersOf(value: object): string[] {
  return Object.keys(value)
    .filter((key) => key !== "$unknown")
    .sort();
}
