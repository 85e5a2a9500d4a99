/**
 * A text that grows token by token, as a model writes it. The program changes a plain value; what goes over the wire
 * is the token that was appended, however long the text is by then.
 *
 *   node --conditions=holdfast-source --import tsx examples/tokens/main.ts
 */
import { create } from "@bufbuild/protobuf";
import { linkOf, type Member } from "holdfast";
import { createServer, state } from "holdfast/server";
import { faultyProxy } from "holdfast/testing/node";
import { Notebook } from "../notebook/gen/notebook/v1/notebook_holdfast.ts";
import { type EntryList, EntryListSchema, EntrySchema } from "../notebook/gen/notebook/v1/notebook_pb.ts";
import { emptyNotebook } from "../notebook/notebook.ts";

const sentence = "A drop is no end: whoever is back finds the text as it is, and each token after it. ";
const tokens = Array.from({ length: 12 }, () => sentence.match(/\S+\s/g) ?? []).flat();
const showEvery = 18;

/** Resolves when a holder has a text of this length. */
async function seen(entries: Member<EntryList>, length: number): Promise<void> {
  for await (const list of entries) if (list.entries[0]?.text.length === length) return;
}

const entries = state(EntryListSchema, { entries: [create(EntrySchema, { id: 1 })] });
const server = createServer().serve(Notebook, () => ({ ...emptyNotebook(), entries }));
const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
// It breaks nothing here, and counts what passes.
const counter = await faultyProxy({ target: { port } });
const link = linkOf(counter.origin);
try {
  const reader = await link.get(Notebook, { session: "answer" });
  const before = counter.replyBytes;
  let text = "";
  let wholeBytes = 0;
  for (const [at, token] of tokens.entries()) {
    const passed = counter.replyBytes;
    text += token;
    wholeBytes += text.length;
    entries.update((draft) => {
      for (const entry of draft.entries) entry.text += token;
    });
    await seen(reader.entries, text.length);
    if (at % showEvery === 0) {
      const bytes = counter.replyBytes - passed;
      console.log(`token ${at + 1}: text of ${text.length} bytes, ${token.length} new, ${bytes} on the wire`);
    }
  }
  const perToken = (counter.replyBytes - before) / tokens.length;
  console.log(`${tokens.length} tokens: ${perToken.toFixed(1)} bytes a token on the wire`);
  console.log(`the whole text each time: ${(wholeBytes / tokens.length).toFixed(1)} bytes a token and more`);
  console.log(`the reader has it all: ${reader.entries.value.entries[0]?.text === text ? "yes" : "no"}`);
} finally {
  await link.close();
  await counter.close();
  await server.close({ within: 0 });
}
