// Run by strict-process.test.ts in a process of its own.

import { AsyncLocalStorage } from "node:async_hooks";
import { create, toBinary } from "@bufbuild/protobuf";
import { CodecError, jsonCodec, msgpackCodec, type Plain } from "holdfast/codec";
import { NodeSchema } from "./gen/codec/v1/kitchen3_pb.ts";

let forbidden = false;
try {
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- what must be forbidden here
  new Function("return 1");
} catch {
  forbidden = true;
}
if (!forbidden) throw new Error("this process may make code from text, so it proves nothing");

const node = create(NodeSchema, { name: "root", children: [{ name: "ü" }] });
for (const codec of [msgpackCodec, jsonCodec]) {
  const read = codec.unshape(NodeSchema, codec.unpack(codec.pack(codec.shape(NodeSchema, node))));
  if (Buffer.compare(toBinary(NodeSchema, read), toBinary(NodeSchema, node)) !== 0)
    throw new Error(`${codec.name} differs`);
}

// With async hooks on, Node ends the process at a stack overflow, whether it is caught or not.
new AsyncLocalStorage<string>().run("on", () => {
  const deep = Buffer.concat([Buffer.alloc(200_000, Uint8Array.of(0x81, 0x02)), Uint8Array.of(0x80)]);
  refused(() => msgpackCodec.unshape(NodeSchema, msgpackCodec.unpack(deep)));
  const text = `${'{"next":'.repeat(100_000)}{}${"}".repeat(100_000)}`;
  refused(() => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(Buffer.from(text))));
  let chain = create(NodeSchema);
  for (let i = 0; i < 100_000; i++) chain = create(NodeSchema, { next: chain });
  refused(() => msgpackCodec.shape(NodeSchema, chain));
  refused((): Plain => jsonCodec.shape(NodeSchema, chain));
});
console.log("strict: ok");

function refused(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (error instanceof CodecError) return;
    throw error;
  }
  throw new Error("it was not refused");
}
