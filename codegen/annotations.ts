/**
 * Reads holdfast's options from descriptors. Nothing is judged here: a schema may carry anything.
 */
import { type DescFile, type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import * as pb from "../gen/holdfast/v1/annotations_pb.ts";

/** A kind that stands on a method, with its fields. */
export type Annotation =
  | { readonly kind: "query"; readonly options: pb.QueryOptions }
  | { readonly kind: "command"; readonly options: pb.CommandOptions }
  | { readonly kind: "signal"; readonly options: pb.SignalOptions }
  | { readonly kind: "stream"; readonly options: pb.StreamOptions }
  | { readonly kind: "heartbeat"; readonly options: pb.HeartbeatOptions }
  | { readonly kind: "state"; readonly options: pb.StateOptions };

/** The number of each kind's extension, to find its place in the source. */
export const optionNumbers: Readonly<Record<Annotation["kind"] | "object" | "defaults", number>> = {
  query: pb.query.number,
  command: pb.command.number,
  signal: pb.signal.number,
  stream: pb.stream.number,
  heartbeat: pb.heartbeat.number,
  state: pb.state.number,
  object: pb.object$.number,
  defaults: pb.defaults.number,
};

/** The kinds on a method; a sound schema has at most one. */
export function annotationsOf(method: DescMethod): readonly Annotation[] {
  const found: Annotation[] = [];
  if (hasOption(method, pb.query)) found.push({ kind: "query", options: getOption(method, pb.query) });
  if (hasOption(method, pb.command)) found.push({ kind: "command", options: getOption(method, pb.command) });
  if (hasOption(method, pb.signal)) found.push({ kind: "signal", options: getOption(method, pb.signal) });
  if (hasOption(method, pb.stream)) found.push({ kind: "stream", options: getOption(method, pb.stream) });
  if (hasOption(method, pb.heartbeat)) {
    found.push({ kind: "heartbeat", options: getOption(method, pb.heartbeat) });
  }
  if (hasOption(method, pb.state)) found.push({ kind: "state", options: getOption(method, pb.state) });
  return found;
}

/** What makes a service a held object; undefined for a plain one. */
export function objectOf(service: DescService): pb.ObjectOptions | undefined {
  return hasOption(service, pb.object$) ? getOption(service, pb.object$) : undefined;
}

/** The file's defaults; undefined when it has none. */
export function defaultsOf(file: DescFile): pb.DefaultsOptions | undefined {
  return hasOption(file, pb.defaults) ? getOption(file, pb.defaults) : undefined;
}

/** The most seconds of a Duration: 10,000 years. Source: google/protobuf/duration.proto. */
const durationSecondsMost = 315_576_000_000n;

/**
 * A duration in whole ms, parts rounded away from zero so that nothing above zero becomes zero. NaN: not a
 * Duration, since its seconds or nanos are out of range or have different signs.
 */
export function durationMs({ seconds, nanos }: Duration): number {
  const inRange = seconds <= durationSecondsMost && seconds >= -durationSecondsMost && Math.abs(nanos) < 1e9;
  if (!inRange || (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return Number.NaN;
  const partMs = nanos / 1e6;
  return Number(seconds) * 1_000 + (partMs < 0 ? Math.floor(partMs) : Math.ceil(partMs));
}

/** The same where a duration may be left out. */
export function durationMsOr<T>(duration: Duration | undefined, otherwise: T): number | T {
  return duration === undefined ? otherwise : durationMs(duration);
}
