/** The server of the notebooks: who may write, and one notebook for each session that somebody holds. */
import { createServer, type Server, type ServerOptions } from "holdfast/server";
import { Notebook } from "./gen/notebook/v1/notebook_holdfast.ts";
import { emptyNotebook } from "./notebook.ts";

export interface NotebookServerOptions extends ServerOptions {
  /** The names of those who write; all others read. Default: everybody writes. */
  readonly editors?: readonly string[];
}

export function notebookServer({ editors, ...options }: NotebookServerOptions = {}): Server {
  const server = createServer({
    // The token is the name: right for a demo on one's own machine, and for nothing else.
    authenticate: ({ token }) => {
      if (token === undefined) return undefined;
      return { by: token, grants: editors?.includes(token) === false ? [] : ["write"] };
    },
    ...options,
  });
  return server.serve(Notebook, emptyNotebook, {
    // Nobody asks for a variant: it follows from what the caller may do, and again whenever that changes.
    variant: ({ grants }) => (grants.includes("write") ? "editor" : "reader"),
  });
}
