/** The checks that the fields of several annotations share. */
import type { Message } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  CommandOptions_Delivery as Delivery,
  CommandOptions_Effects as Effects,
  CommandOptions_Keep as Keep,
  Outbox,
} from "../gen/holdfast/v1/annotations_pb.ts";
import { durationMs } from "./annotations.ts";
import type { Fault } from "./fault.ts";

/** The place of a fault, to which a check adds what is wrong. */
export type FaultPlace = Pick<Fault, "subject" | "option">;

/** A duration that must be above zero where it is given. */
export function checkAboveZero(
  at: FaultPlace,
  name: string,
  duration: Duration | undefined,
): readonly Fault[] {
  if (duration === undefined) return [];
  const ms = durationMs(duration);
  if (Number.isNaN(ms)) return [notADuration(at, name, duration)];
  if (ms > 0) return [];
  return [
    {
      ...at,
      what: `sets ${name} to ${durationText(ms)}`,
      mend: "Make it longer than zero, or leave it out to take the default.",
    },
  ];
}

/** A duration that may be zero but not below. */
export function checkNotBelowZero(
  at: FaultPlace,
  name: string,
  duration: Duration | undefined,
): readonly Fault[] {
  if (duration === undefined) return [];
  const ms = durationMs(duration);
  if (Number.isNaN(ms)) return [notADuration(at, name, duration)];
  if (ms >= 0) return [];
  return [
    {
      ...at,
      what: `sets ${name} to ${durationText(ms)}`,
      mend: "Make it zero or longer, or leave it out to take the default.",
    },
  ];
}

function notADuration(at: FaultPlace, name: string, { seconds, nanos }: Duration): Fault {
  return {
    ...at,
    what: `sets ${name} to what is not a duration (seconds: ${seconds}, nanos: ${nanos})`,
    mend: "Keep seconds within 315576000000 (10,000 years) and nanos within 999999999, both with the same sign.",
  };
}

const enums: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  delivery: Delivery,
  effects: Effects,
  keep: Keep,
  outbox: Outbox,
};

/**
 * Fields and values that this generator does not know, which happens when annotations.proto is newer than the
 * generator. To pass over them would make something else than the schema says.
 */
export function checkKnown(
  at: FaultPlace,
  options: Message,
  values: Readonly<Record<string, number | undefined>> = {},
): readonly Fault[] {
  const mend = "Update the package `holdfast`, whose annotations.proto is older than the one in use.";
  const fields = (options.$unknown ?? []).map(
    ({ no }): Fault => ({ ...at, what: `sets field ${no}, which this generator does not know`, mend }),
  );
  const unknown = Object.entries(values).flatMap(([name, value]): Fault[] =>
    value === undefined || Object.values(enums[name] ?? {}).includes(value)
      ? []
      : [{ ...at, what: `sets ${name} to ${value}, which this generator does not know`, mend }],
  );
  return [...fields, ...unknown];
}

/** `-1.5 s`, `250 ms`. */
export function durationText(ms: number): string {
  return Math.abs(ms) >= 1_000 || ms === 0 ? `${ms / 1_000} s` : `${ms} ms`;
}
