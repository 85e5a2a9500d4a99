/**
 * The board in a browser: the items as they change, and one line that says how the connection is. What is posted while
 * the server is away waits in the browser's database, also when the page is closed meanwhile.
 */
import { HoldfastError, linkLine, linkOf } from "holdfast";
import { indexedDbOutbox } from "holdfast/web/outbox";
import { boardClient } from "../board/gen/board/v1/board_holdfast.ts";
import { type Item, ItemState } from "../board/gen/board/v1/board_pb.ts";

const query = new URLSearchParams(location.search);
const who = query.get("as") ?? "somebody";
const url = query.get("server") ?? `http://${location.hostname}:8080`;

// The token is the name: right for a demo on one's own machine, and for nothing else.
const link = linkOf(url, { account: who, token: () => who, outbox: { store: indexedDbOutbox() } });
const board = boardClient(link);

const items = new Map<string, Item>();

/** Shows the items, and goes on with each that changes. A drop needs no code: the loop resumes behind its last item. */
async function follow(): Promise<void> {
  const { items: first, seq } = await board.list({ all: true }, { timeoutMs: Number.POSITIVE_INFINITY });
  for (const item of first.reverse()) items.set(item.id, item);
  show();
  // When more happened than the server keeps, the list is read anew.
  for await (const { item } of board.tail({ after: seq }, { onGap: () => location.reload() })) {
    if (item !== undefined) items.set(item.id, item);
    show();
  }
}

/** Runs a command, and says what became of it. */
async function tell(what: string, command: Promise<unknown>): Promise<void> {
  try {
    await command;
    say(what);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    say(error.outcome === "in-outbox" ? `${what}: waits for the server` : `${what}: ${error.rawMessage}`);
  }
}

function show(): void {
  const rows = [...items.values()].reverse().map((item) => {
    const row = element("li", item.state === ItemState.CLOSED ? "closed" : "");
    row.append(element("span", "title", item.title), element("span", "", item.heldBy));
    if (item.state === ItemState.OPEN) row.append(button("Claim", () => board.claim({ id: item.id })));
    if (item.state === ItemState.CLAIMED && item.heldBy === who) {
      row.append(button("Release", () => board.release({ id: item.id })));
      row.append(button("Close", () => board.close({ id: item.id })));
    }
    return row;
  });
  byId("items").replaceChildren(...rows);
}

function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text; // never as HTML: others wrote it
  return made;
}

function button(text: string, command: () => Promise<unknown>): HTMLElement {
  const made = element("button", "", text);
  made.addEventListener("click", () => void tell(text, command()));
  return made;
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

function say(text: string): void {
  byId("says").textContent = text;
}

function showLink(): void {
  byId("link").textContent = linkLine(link.state.value, Date.now()) ?? "";
}

byId("post").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId("title") as HTMLInputElement;
  void tell("Posted", board.post({ title: input.value }, { short: true }));
  input.value = "";
});
link.state.subscribe(showLink);
setInterval(showLink, 1_000); // its seconds go on
void follow();
