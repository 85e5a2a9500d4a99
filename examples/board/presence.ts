/** Who is there, as the server's sessions tell it. */
import { isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { SessionInfo } from "holdfast/server";
import { AliveRequestSchema, type PresenceSchema } from "./gen/board/v1/board_pb.ts";

/** The programs that run on. A short command is a session too, for a while, and gives no heartbeat. */
export function presences(sessions: readonly SessionInfo[]): MessageInitShape<typeof PresenceSchema>[] {
  return sessions.flatMap(({ caller, fact, lastSeenMs, state, streamCount }) => {
    if (!isMessage(fact, AliveRequestSchema)) return [];
    const { by = "somebody" } = caller;
    const lastSeen = timestampFromMs(lastSeenMs);
    return [{ by, doing: fact.doing, lastSeen, quiet: state === "quiet", streamCount }];
  });
}
