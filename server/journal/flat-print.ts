/**
 * Writes the fields that most requests have for a fingerprint: text, numbers and flags at the top, without reflection
 * and without an object for each. The bytes are those of the walk in `fingerprint.ts`; whatever a value or a field has
 * that is out of the ordinary is left to it.
 */
import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";

/** Writes a field as the walk does; gives its bytes, none for one that is not set. */
export type WalkField = (message: Message, field: DescField) => Uint8Array;

type WriteField = (message: Record<string, unknown>) => void;

/** Text above this is left to the walk. */
const charsMost = 512;

export class FlatPrint {
  readonly #fields: readonly WriteField[];
  #bytes = new Uint8Array(1_024);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  constructor(desc: DescMessage, walk: WalkField) {
    const sorted = [...desc.fields].sort((a, b) => a.number - b.number);
    this.#fields = sorted.map((field) => this.#writerOf(field, walk));
  }

  /** Whether a member of a message is one that is written here, as long as its value is ordinary. */
  static takes(member: DescField | DescOneof): boolean {
    return member.kind === "field" && isFlat(member) && flatTypes.has(typeOf(member));
  }

  /** The bytes of the fields that a message's schema knows, behind some others. */
  write(before: Uint8Array, message: Message): Uint8Array {
    this.#at = 0;
    this.#raw(before);
    for (const write of this.#fields) write(message);
    return this.#bytes.slice(0, this.#at);
  }

  #writerOf(field: DescField, walk: WalkField): WriteField {
    const slow: WriteField = (message) => this.#raw(walk(message as unknown as Message, field));
    if (!isFlat(field)) return slow;
    const { localName: name, number } = field;
    const tag = (type: WireType): number => number * 8 + type;
    switch (typeOf(field)) {
      case ScalarType.STRING:
        return this.#text(name, tag(WireType.LengthDelimited), slow);
      case ScalarType.INT32:
      case ScalarType.UINT32:
        return this.#number(name, tag(WireType.Varint), slow);
      case ScalarType.BOOL:
        return (message) => {
          const value = message[name];
          if (value === false) return;
          if (value !== true) {
            slow(message);
            return;
          }
          this.#varint(tag(WireType.Varint));
          this.#varint(1);
        };
      case ScalarType.DOUBLE:
        return this.#double(name, tag(WireType.Bit64), slow);
      default:
        return slow;
    }
  }

  #text(name: string, tag: number, slow: WriteField): WriteField {
    return (message) => {
      const text = message[name];
      if (text === "") return;
      if (typeof text !== "string" || text.length > charsMost) {
        slow(message);
        return;
      }
      const start = this.#at;
      this.#varint(tag);
      this.#varint(text.length);
      this.#room(text.length);
      for (let i = 0; i < text.length; i += 1) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) {
          this.#at = start;
          slow(message);
          return;
        }
        this.#bytes[this.#at] = code;
        this.#at += 1;
      }
    };
  }

  #number(name: string, tag: number, slow: WriteField): WriteField {
    return (message) => {
      const value = message[name];
      if (value === 0) return;
      // Negative ones have ten bytes, which is the walk's business.
      if (typeof value === "number" && value > 0 && value <= 0x7fffffff && Number.isInteger(value)) {
        this.#varint(tag);
        this.#varint(value);
      } else slow(message);
    };
  }

  #double(name: string, tag: number, slow: WriteField): WriteField {
    return (message) => {
      const value = message[name];
      if (Object.is(value, 0)) return; // -0 is set
      if (typeof value !== "number") {
        slow(message);
        return;
      }
      this.#varint(tag);
      this.#room(8);
      this.#view.setFloat64(this.#at, value, true);
      this.#at += 8;
    };
  }

  #varint(value: number): void {
    this.#room(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at] = (rest & 0x7f) | 0x80;
      this.#at += 1;
      rest >>>= 7;
    }
    this.#bytes[this.#at] = rest;
    this.#at += 1;
  }

  #raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #room(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + count));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

type FlatField = DescField & { readonly fieldKind: "scalar" | "enum" };

const flatTypes: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.BOOL,
  ScalarType.DOUBLE,
]);

function isFlat(field: DescField): field is FlatField {
  const flat = field.fieldKind === "scalar" || field.fieldKind === "enum";
  return flat && field.presence === Presence.IMPLICIT && field.oneof === undefined;
}

function typeOf(field: FlatField): ScalarType {
  return field.fieldKind === "enum" ? ScalarType.INT32 : field.scalar;
}
