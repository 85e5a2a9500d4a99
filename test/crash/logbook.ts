/** The crash test's engine: each command writes its key, and one that runs twice shows. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { engine } from "../../server/index.ts";
import { Logbook } from "./gen/test/crash/v1/logbook_holdfast.ts";
import { LogbookStateSchema, PlacesSchema, WrittenSchema } from "./gen/test/crash/v1/logbook_pb.ts";

export const logbookRules = engine(Logbook, {
  state: LogbookStateSchema,
  records: [WrittenSchema],
  commands: {
    write: {
      note: undefined, // says the type of the notes
      handle(_, { key, refuse }) {
        if (refuse) throw new ConnectError("the test wants a refusal", Code.FailedPrecondition);
        return { records: [create(WrittenSchema, { key })] };
      },
      reply: (state, { request }) => ({ place: state.places[request.key]?.at[0] ?? 0n }),
    },
  },
  apply(state, { key }, { seq }) {
    (state.places[key] ??= create(PlacesSchema)).at.push(BigInt(seq));
  },
  // Few, so that servers are killed while they make one.
  checkpointEvery: 50,
});
