/**
 * The two copies of an engine's state. The `working` one has every command that was decided; the next command of
 * the same batch is decided on it. The `written` one has those that are durable; replies and queries read it, so
 * nothing is ever shown that a crash could take back.
 *
 * A transaction that did not stand leaves the working copy with what never happened. Nobody tells the engine in
 * time, since the next command may be decided in the same batch; the number of the newest row in the transaction
 * does. When it is behind, the working copy is made anew from the written one.
 *
 * Source: reliability decision D14.
 */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";

/** Folds an envelope's records into a state. */
export type Fold<State> = (state: State, envelope: RecordEnvelope) => void;

interface Copy<State> {
  state: State;
  seq: number;
  atMs: number;
}

export class Copies<Schema extends DescMessage> {
  readonly #schema: Schema;
  readonly #fold: Fold<MessageShape<Schema>>;
  readonly #written: Copy<MessageShape<Schema>>;
  #working: Copy<MessageShape<Schema>>;
  /** Decided, and not known to be durable. In their order. */
  #pending: RecordEnvelope[] = [];
  /** A fold into the working copy broke off. */
  #torn = false;

  constructor(
    schema: Schema,
    fold: Fold<MessageShape<Schema>>,
    start: { readonly state: MessageShape<Schema>; readonly seq: number; readonly atMs: number },
  ) {
    this.#schema = schema;
    this.#fold = fold;
    this.#written = { ...start };
    this.#working = { ...start, state: this.#clone(start.state) };
  }

  get written(): Readonly<Copy<MessageShape<Schema>>> {
    return this.#written;
  }

  get working(): Readonly<Copy<MessageShape<Schema>>> {
    return this.#working;
  }

  /** Makes the working copy that of the transaction whose newest row is given. */
  meet(lastSeq: number): void {
    if (lastSeq === this.#working.seq && !this.#torn) return;
    this.#pending = this.#pending.filter(({ seq }) => Number(seq) <= lastSeq);
    const working: Copy<MessageShape<Schema>> = {
      ...this.#written,
      state: this.#clone(this.#written.state),
    };
    for (const envelope of this.#pending) this.#advance(working, envelope);
    this.#working = working;
    this.#torn = false;
  }

  /** Takes a decided envelope into the working copy. What the fold throws is thrown. */
  decide(envelope: RecordEnvelope): void {
    this.#torn = true;
    this.#advance(this.#working, envelope);
    this.#torn = false;
    this.#pending.push(envelope);
  }

  /** An envelope is durable, and with it all before it. Gives those that are new in the written copy. */
  stands(envelope: RecordEnvelope): readonly RecordEnvelope[] {
    if (!this.#pending.includes(envelope)) return []; // a later one was told of first
    const count = this.#pending.indexOf(envelope) + 1;
    const news = this.#pending.splice(0, count);
    for (const each of news) this.#advance(this.#written, each);
    return news;
  }

  /** An envelope's transaction did not stand. */
  falls(envelope: RecordEnvelope): void {
    const at = this.#pending.indexOf(envelope);
    if (at === -1) return;
    this.#pending.splice(at, 1);
    this.#torn = true;
  }

  /** The written state as bytes. */
  bytes(): Uint8Array {
    return toBinary(this.#schema, this.#written.state);
  }

  /** Whether both copies are the same where they must be: they are not when more than `apply` changes a state. */
  agree(writtenBytes: Uint8Array): boolean {
    if (this.#pending.length > 0 || this.#torn || this.#working.seq !== this.#written.seq) return true;
    return Buffer.compare(writtenBytes, toBinary(this.#schema, this.#working.state)) === 0;
  }

  #advance(copy: Copy<MessageShape<Schema>>, envelope: RecordEnvelope): void {
    this.#fold(copy.state, envelope);
    copy.seq = Number(envelope.seq);
    copy.atMs = Number(envelope.atMs);
  }

  #clone(state: MessageShape<Schema>): MessageShape<Schema> {
    return fromBinary(this.#schema, toBinary(this.#schema, state));
  }
}
