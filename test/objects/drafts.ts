/** Drafts, whose commands an outbox keeps, and whose handlers a test directs. */
import { state } from "../../runtime/delta/state.ts";
import type { CommandContext } from "../../runtime/base/handlers.ts";
import type { Host } from "../../runtime/hold/host.ts";
import type { Server } from "../../server/index.ts";
import type { ServeOptions } from "../../runtime/hold/served-type.ts";
import { Draft } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { DraftLinesSchema, type DraftParamsSchema } from "./gen/test/objects/v1/notebook_pb.ts";

export class Drafts {
  /** What began to run, such as "late a". */
  readonly ran: string[] = [];
  readonly callIds: (string | undefined)[] = [];
  /** Comes back with each count. */
  echo = "";
  onStart: () => void | Promise<void> = () => undefined;
  onCommand: (line: string) => void | Promise<void> = () => undefined;

  constructor(host: Pick<Host | Server, "serve">, options?: ServeOptions<typeof DraftParamsSchema>) {
    host.serve(
      Draft,
      async ({ params }) => {
        await this.onStart();
        const lines = state(DraftLinesSchema, { lines: [] });
        const command =
          (rpc: string) =>
          async ({ line }: { line: string }, { callId }: CommandContext): Promise<{ count: number }> => {
            this.ran.push(`${params.name} ${rpc} ${line}`);
            this.callIds.push(callId);
            await this.onCommand(line);
            lines.update((draft) => void draft.lines.push(line));
            return { count: lines.value.lines.length };
          };
        return {
          lines,
          late: command("late"),
          early: command("early"),
          merged: command("merged"),
          plain: command("plain"),
          count: () => {
            this.ran.push(`${params.name} count`);
            return { count: lines.value.lines.length, echo: this.echo };
          },
        };
      },
      options,
    );
  }
}
