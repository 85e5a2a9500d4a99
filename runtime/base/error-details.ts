/**
 * The two details that holdfast's errors carry, as bytes: `holdfast.v1.ErrorInfo` and `google.rpc.RetryInfo`.
 * They are written and read field by field, since both are tiny, and their descriptors would cost a browser
 * more than the rest of this folder. A test holds them to the schema.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** `ErrorInfo { reason = 1, advice = 2 }`. */
export function writeErrorInfo(reason: number, advice: string): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(reason);
  writer.tag(2, WireType.LengthDelimited).string(advice);
  return writer.finish();
}

/** The reason's number in an ErrorInfo. */
export function readErrorInfo(bytes: Uint8Array): number {
  return readFields(bytes, WireType.Varint, (reader) => reader.int32()).get(1) ?? 0;
}

/** `RetryInfo { retry_delay = 1 }`, a Duration of `seconds = 1, nanos = 2`. */
export function writeRetryDelay(delayMs: number): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(Math.floor(delayMs / 1000));
  writer.tag(2, WireType.Varint).int32(Math.floor(delayMs % 1000) * 1_000_000);
  return writer.join().finish();
}

/** The delay in ms; undefined without one. */
export function readRetryDelay(bytes: Uint8Array): number | undefined {
  const delay = readFields(bytes, WireType.LengthDelimited, (reader) => reader.bytes()).get(1);
  if (delay === undefined) return undefined;
  const parts = readFields(delay, WireType.Varint, (reader) => Number(reader.int64()));
  return (parts.get(1) ?? 0) * 1000 + (parts.get(2) ?? 0) / 1_000_000;
}

/** The fields of one wire type; the last one of a number counts, others are skipped. */
function readFields<T>(
  bytes: Uint8Array,
  wanted: WireType,
  read: (reader: BinaryReader) => T,
): ReadonlyMap<number, T> {
  const fields = new Map<number, T>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === wanted) fields.set(number, read(reader));
    else reader.skip(type, number);
  }
  return fields;
}
