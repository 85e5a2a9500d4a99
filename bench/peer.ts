/**
 * What a system under test is asked to do. A file of bench/peers (or bench/holdfast) has one or more of them, each
 * as its own documentation says it is used.
 */
export interface Peer {
  /** As it stands in the tables. */
  readonly name: string;
  /** Serves on a free port of 127.0.0.1, in a process of its own. */
  serve(options: ServeOptions): Promise<Served>;
  /** Connects to such a server, from another process; resolves when the connection can be used. */
  connect(port: number): Promise<Connected>;
}

export interface ServeOptions {
  /** Where a database may be kept; absent: nothing is kept on disk. */
  readonly file?: string;
}

export interface Note {
  readonly text: string;
  readonly n: number;
}

/** What changes on the page that is watched. */
export type Change = "append" | "field" | "line";

/** A server. What it cannot do is absent. */
export interface Served {
  readonly port: number;
  /** Tells all who follow. */
  readonly publish?: (note: Note) => void;
  /** Replaces the text of the page that everybody watches. */
  readonly rewrite?: (text: string) => void;
  /** Changes a little of everything that is held. */
  readonly touch?: () => void;
  /** Makes a small change on the page that everybody watches. */
  readonly change?: (change: Change) => void;
}

/** A connection. What it cannot do is absent. */
export interface Connected {
  /** One call: the same text and the number that follows come back. */
  readonly ask?: (note: Note) => Promise<Note>;
  /** The same as a command that runs once, where a system has such. */
  readonly enter?: (note: Note) => Promise<Note>;
  /** Reads items of 64 bytes as fast as they come, until `got` of how many came says false. */
  readonly pour?: (got: (count: number) => boolean) => Promise<void>;
  /** One more follower of what is published; resolves when it follows. */
  readonly follow?: (heard: (count: number) => void) => Promise<void>;
  /** One more watcher of the page; resolves when it has the page. */
  readonly watch?: (heard: () => void) => Promise<void>;
  /**
   * Subscribes to as many things, and again by itself after each drop. `live` is called each time that all are there.
   */
  readonly hold?: (count: number, live: () => void) => Promise<Held>;
}

/** Many subscriptions of one connection. */
export interface Held {
  /** One call that waits while the connection is down, where a system has such. Gives the place in which it ran. */
  readonly write?: (text: string) => Promise<number>;
}

/** The page that is watched: 100 lines, a text of 2,000 characters. */
export interface PageContent {
  text: string;
  lines: { id: string; title: string; owner: string; done: boolean }[];
  revision: number;
}

export function firstPage(): PageContent {
  const lines = Array.from({ length: 100 }, (_, at) => ({
    id: `line-${at}`,
    title: `Order of garden tools, part ${at}`,
    owner: "ada@example.org",
    done: at % 2 === 0,
  }));
  return { text: "x".repeat(2_000), lines, revision: 1 };
}

/** The change on a page, or on a draft of it. */
export function changePage(page: PageContent, change: Change): void {
  const at = page.revision % 100;
  page.revision += 1;
  const line = page.lines[at];
  if (change === "append") page.text += " twenty characters, ";
  else if (change === "field") {
    if (line !== undefined) line.done = !line.done;
  } else
    page.lines.push({
      id: `line-${page.revision}`,
      title: "One more",
      owner: "ada@example.org",
      done: false,
    });
}

/** What a stream's items carry: 64 bytes. */
export const pouredText = "x".repeat(64);
