/** Who hears of each command once it is durable. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";
import { originOf } from "./fold.ts";
import type { RecordTypes } from "./record.ts";
import type { Origin } from "./rules.ts";

/** A command that has become durable: what it changed is in the state. */
export interface Applied<Record> {
  readonly origin: Origin;
  /** The method's full name, such as `board.v1.BoardService.Claim`. */
  readonly command: string;
  /** Undefined for a client that sent none. */
  readonly callId: string | undefined;
  /** In the order in which they were applied. Empty for a refused command, and one that came to nothing. */
  readonly records: readonly Record[];
  readonly refused: boolean;
}

/** What happened in an envelope. Its records are new ones, since who gets them may keep and change them. */
export function appliedOf<Record extends DescMessage>(
  envelope: RecordEnvelope,
  types: Pick<RecordTypes<Record>, "decode">,
): Applied<MessageShape<Record>> {
  return {
    origin: originOf(envelope),
    command: envelope.command,
    callId: envelope.call?.id,
    records: envelope.records.map((record) => types.decode(record)),
    refused: envelope.refusal !== undefined,
  };
}

type Listener<Record> = (applied: Applied<Record>) => void;

export class Listeners<Record extends DescMessage> {
  readonly #types: RecordTypes<Record>;
  readonly #failed: (error: unknown) => void;
  readonly #listeners = new Set<Listener<MessageShape<Record>>>();

  /** @param failed - told of what a listener throws, which stops no other and no command. */
  constructor(types: RecordTypes<Record>, failed: (error: unknown) => void) {
    this.#types = types;
    this.#failed = failed;
  }

  add(listener: Listener<MessageShape<Record>>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(envelope: RecordEnvelope): void {
    for (const listener of this.#listeners) {
      try {
        listener(appliedOf(envelope, this.#types));
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}
