/**
 * What generated code imports, and nothing else may rely on. The version in its name is its promise: what
 * is here stays as it is, and a next generator that needs more gets a `generated-v2` beside it.
 */
export type { MessageInitShape } from "@bufbuild/protobuf";
export type {
  CommandDefinition,
  HeartbeatDefinition,
  ObjectDefinition,
  PlainStreamDefinition,
  QueryDefinition,
  ServiceDefinition,
  SignalDefinition,
  StateDefinition,
  StreamDefinition,
} from "./base/definition.ts";
export type {
  CommandContext,
  HandlerContext,
  PlainStreamContext,
  StreamContext,
} from "./base/handlers.ts";
export type { CallOptions, Calls } from "./base/calls.ts";
export type { Member, Reference, StateMember } from "./base/objects.ts";
export { oneRequest, onlyReply } from "./base/plain-streams.ts";
export type { GapMode, PlainStreamOptions, ResumableStream, StreamOptions } from "./base/streams.ts";
export { resumable } from "./link/link-streams.ts";
export { connectStreaming } from "./link/plain-stream.ts";
export { beating } from "./stream/heartbeat.ts";

/** The contract's version: a generated file refers to it, so that a mismatch is a compile error. */
export const generatedV1 = 1;
