/**
 * The params of a held object: which object it is. Two params that say the same give the same key, whoever made
 * them.
 *
 * The key is the params' bytes in the binary format, whose fields go out in the order of their numbers, or, where
 * they are plain, something shorter that tells them apart as well. The generator refuses params with fields that have
 * no stable bytes (floats, maps).
 *
 * Source: design "Schema and generated code".
 */
import {
  create,
  type DescMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { HoldfastError } from "../base/errors.ts";
import { settled } from "../delta/settled.ts";
import { scalarKey } from "./scalar-key.ts";

export interface KeyedParams {
  /** Frozen, and shared with nobody. */
  readonly params: Message;
  readonly key: string;
}

/**
 * Makes params of what a program gives.
 *
 * @throws HoldfastError `invalid_argument` naming what does not fit.
 */
export function keyedParams<Params extends DescMessage>(
  schema: Params,
  init: MessageInitShape<Params>,
): KeyedParams {
  try {
    for (const name of Object.keys(init)) assertMember(schema, name);
    const made: MessageShape<Params> = create(schema, init);
    // A copy, so that a program may go on changing its own message; one inside it is frozen with the params.
    const copy = Object.create(Object.getPrototypeOf(made) as object) as MessageShape<Params>;
    const params = settled(schema, Object.assign(copy, made));
    return { params, key: paramsKey(schema, params) };
  } catch (error) {
    throw noParams(schema, error);
  }
}

function noParams({ typeName }: DescMessage, error: unknown): HoldfastError {
  const problem = error instanceof Error ? error.message.replace(/^holdfast: /, "") : String(error);
  return new HoldfastError(`these are no params of ${typeName}: ${problem}`, {
    code: Code.InvalidArgument,
    cause: error,
  });
}

/**
 * The same of a message that nobody else has: it is taken as it is.
 *
 * @throws HoldfastError `invalid_argument` naming what does not fit.
 */
export function keyedMessage(schema: DescMessage, message: Message): KeyedParams {
  try {
    return { params: settled(schema, message as never), key: paramsKey(schema, message) };
  } catch (error) {
    throw noParams(schema, error);
  }
}

/** The key of a message of params. */
export function paramsKey(schema: DescMessage, params: Message): string {
  const keyOf = scalarKey(schema);
  if (keyOf !== undefined) return keyOf(params);
  return base64Encode(toBinary(schema, params, { writeUnknownFields: false }), "url");
}

/** A misspelt field would name another object, and nobody would see it. */
function assertMember(schema: DescMessage, name: string): void {
  if (name.startsWith("$") || schema.members.some(({ localName }) => localName === name)) return;
  throw new TypeError(`it has no field ${name}`);
}
