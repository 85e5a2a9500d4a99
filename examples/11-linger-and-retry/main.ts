/**
 * How long an object lives after its last reference, and what a reference says of one that fails. All in one process
 * and in virtual time, so that minutes pass at once; over a link it is the same.
 *
 *   node --conditions=holdfast-source --import tsx examples/11-linger-and-retry/main.ts
 */
import { Code, ConnectError, type ReferenceState } from "holdfast";
import { createHost } from "holdfast/hold";
import { seededRandom, virtualClock } from "holdfast/testing";
import { Notebook, type NotebookEditorReference } from "../notebook/gen/notebook/v1/notebook_holdfast.ts";
import { emptyNotebook } from "../notebook/notebook.ts";
import { listLine, stateLine } from "../notebook/show.ts";

/** Why notebooks of a session cannot be opened now. */
const trouble = new Map<string, ConnectError>();

const clock = virtualClock();
const host = createHost({ clock, random: seededRandom(1) });
host.serve(
  Notebook,
  ({ params, self }) => {
    const error = trouble.get(params.session);
    if (error !== undefined) throw error;
    console.log(`  ${params.session} starts`);
    self.onEnd(() => console.log(`  ${params.session} ends`));
    return emptyNotebook();
  },
  { lingerMs: 5 * 60_000 },
);

const get = (session: string): Promise<NotebookEditorReference> =>
  host.get(Notebook, { session }, { variant: "editor" });

async function showLinger(): Promise<void> {
  console.log("1. Released, and held again within its linger of 5 minutes");
  const first = await get("S1");
  await first.add({ text: "milk" });
  await first.$release();
  await clock.advance(4 * 60_000);
  const second = await get("S1");
  console.log(`after 4 minutes: ${listLine(second.entries.value)}`);

  console.log("2. The linger passes: what was in memory is gone");
  await second.$release();
  await clock.advance(5 * 60_000);
  const third = await get("S1");
  console.log(`held again: ${listLine(third.entries.value)}`);
  await third.$release();
}

/** Holds a notebook that has trouble, and shows where the reference stands. */
function holdShown(session: string): NotebookEditorReference {
  const notes = host.hold(Notebook, { session }, { variant: "editor" });
  const show = (state: ReferenceState): void => {
    const again = state.kind !== "failed" ? "" : state.retryAt === undefined ? ", no retry" : ", tries again";
    console.log(`state: ${stateLine(state)}${again}`);
  };
  show(notes.$state.value);
  notes.$state.subscribe(show);
  return notes;
}

async function showRetry(): Promise<void> {
  console.log("3. What may pass is tried again by itself, later each time");
  trouble.set("S2", new ConnectError("the disk is busy", Code.Unavailable));
  const busy = holdShown("S2");
  await clock.advance(300);
  trouble.delete("S2");
  await clock.advance(1_000);
  await busy.$release();

  console.log("4. What cannot pass waits until somebody asks");
  trouble.set("S3", new ConnectError("there is no S3", Code.NotFound));
  const broken = holdShown("S3");
  await clock.advance(60_000);
  await broken.add({ text: "milk" }).catch((error: unknown) => console.log(`a call: ${String(error)}`));
  trouble.delete("S3");
  broken.$retry(); // A button, in a program with a screen. It asks for all who hold the notebook.
  await clock.settle();
  const { id } = await broken.add({ text: "milk" });
  console.log(`a call: entry ${id}`);
  await broken.$release();
}

try {
  await showLinger();
  await showRetry();
} finally {
  console.log("the host closes: what lingers ends at once");
  await host.close();
}
