/** The line of `down`, as a short command shows it: once, on stderr, and only when it lasts. */
import { defaultTiming, type Link } from "holdfast";

/** Shows the line once when the link is down for a second; gives the function that stops watching. */
export function lineAfterAWhile(link: Link, out: NodeJS.WritableStream): () => void {
  let timer: NodeJS.Timeout | undefined;
  const forget = link.state.subscribe((state) => {
    if (state.kind !== "down") {
      clearTimeout(timer);
      timer = undefined;
    } else {
      timer ??= setTimeout(() => {
        const line = link.line();
        if (line !== undefined) out.write(`${line}\n`);
      }, defaultTiming.lineAfterMs);
    }
  });
  return () => {
    clearTimeout(timer);
    forget();
  };
}
