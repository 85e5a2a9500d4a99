/**
 * Where a stream goes on after a drop. "Nothing taken yet" is a point too, apart from "from now": it is the place
 * that the server named when the stream first opened.
 *
 * Only an item that was handed to the program moves the point; no notice and no sign does. A numbering that began
 * anew replaces it, since numbers of two epochs do not compare.
 *
 * Source: design "Streams: The client"; reliability decisions D41, D44.
 */

/** A place in a stream's numbering: behind the item `seq` of `epoch`. */
export interface Position {
  readonly epoch: string;
  readonly seq: number;
}

export type ResumePoint =
  /** Not known yet, or the stream does not number its items: the server says where it begins. */
  | { readonly kind: "none" }
  /** The server has said where it begins, and nothing was taken. */
  | { readonly kind: "ready"; readonly at: Position }
  /** Behind the last item taken. */
  | { readonly kind: "taken"; readonly at: Position };

export const pointAtFirst: ResumePoint = { kind: "none" };

/** The server said where the stream begins. */
export function pointAfterReady(
  point: ResumePoint,
  at: Position | undefined,
  restarted: boolean,
): ResumePoint {
  if (point.kind !== "none" && !restarted) return point;
  return at === undefined ? pointAtFirst : { kind: "ready", at };
}

/** The program has taken this item. One of an epoch that is over moves nothing. */
export function pointAfterItem(point: ResumePoint, at: Position): ResumePoint {
  return point.kind === "none" || point.at.epoch !== at.epoch ? point : { kind: "taken", at };
}

/** What a follow asks for; undefined: the beginning that the server chooses. */
export function wantedAfter(point: ResumePoint): Position | undefined {
  return point.kind === "none" ? undefined : point.at;
}
