import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { faultyProxy } from "../../runtime/testing/faulty-proxy.ts";
import { fetchClient } from "../../runtime/web/fetch-client.ts";
import { chunks, countedSignal, listen, post, readOne, text } from "./support.ts";

const reason = new Error("enough");

async function server(): Promise<AsyncDisposable & { origin: string; port: number; cut: Promise<void> }> {
  let told: () => void = () => undefined;
  const cut = new Promise<void>((resolve) => (told = resolve));
  const made = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (request.url === "/sign-in") response.writeHead(302, { location: "/page" }).end();
      else if (body === "hang") response.on("close", told);
      else if (body === "part") {
        response.on("close", told);
        response.write("part");
      } else response.end(`echo ${body}`);
    });
  });
  const port = await listen(made);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    cut,
    [Symbol.asyncDispose]: async () => {
      made.closeAllConnections();
      await new Promise((resolve) => made.close(resolve));
    },
  };
}

describe("the fetch client", () => {
  it("sends a body of many chunks as one, and reads the answer", async () => {
    await using there = await server();
    const client = fetchClient({ origin: there.origin });
    let sent = 0;
    const more = { body: chunks("a", "b", "c"), onSent: () => sent++ };
    const answer = await client.send(post(there.origin, "", more));
    expect([answer.status, await text(answer), sent]).toEqual([200, "echo abc", 1]);
  });

  it("leaves the name of the program to the browser, which else asks whether a page may set it", async () => {
    let sent = new Headers();
    const client = fetchClient({
      origin: "https://a.example",
      fetch: (_, init) => {
        sent = new Headers(init?.headers);
        return Promise.resolve(new Response());
      },
    });
    const request = post("https://a.example", "");
    request.header.set("user-agent", "connect-es/2");
    request.header.set("holdfast-call", "c1");
    await client.send(request);
    expect([sent.get("user-agent"), sent.get("holdfast-call")]).toEqual([null, "c1"]);
  });

  it("makes a fault of every rejection, also of one in words that nobody knows", async () => {
    const strange = [
      new TypeError("Load failed"),
      new Error("the daemon of the network sneezed"),
      "a text",
      undefined,
      new DOMException("The operation was aborted.", "AbortError"),
    ];
    for (const error of strange) {
      const client = fetchClient({
        origin: "https://a.example", // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- some are no errors, as in life
        fetch: () => Promise.reject(error),
      });
      await expect(client.send(post("https://a.example", ""))).rejects.toMatchObject({
        name: "ConnectionFault",
        kind: "unknown",
        sent: true,
      });
    }
  });

  it("rejects with the caller's reason when the caller aborts, and tells the server", async () => {
    for (const body of ["hang", "part"]) {
      await using there = await server();
      const client = fetchClient({ origin: there.origin });
      const { controller, listenerCount } = countedSignal();
      const sent = client.send(post(there.origin, body, { signal: controller.signal }));
      if (body === "part") {
        const reader = (await sent).body[Symbol.asyncIterator]();
        await reader.next();
        const next = reader.next().catch((error: unknown) => error);
        controller.abort(reason);
        expect(await next).toBe(reason);
      } else {
        await new Promise((resolve) => setImmediate(resolve));
        controller.abort(reason);
        await expect(sent).rejects.toBe(reason);
      }
      if (body === "part") await there.cut;
      expect(listenerCount()).toBe(0);
    }
  });

  it("takes the early end of reading for a cancel", async () => {
    await using there = await server();
    const client = fetchClient({ origin: there.origin });
    const { controller, listenerCount } = countedSignal();
    const answer = await client.send(post(there.origin, "part", { signal: controller.signal }));
    await readOne(answer);
    await there.cut;
    expect(listenerCount()).toBe(0);
  });

  it("fails an answer that is cut in the middle", async () => {
    await using there = await server();
    await using proxy = await faultyProxy({ target: there });
    const client = fetchClient({ origin: proxy.origin });
    const answer = await client.send(post(proxy.origin, "part"));
    const reader = answer.body[Symbol.asyncIterator]();
    await reader.next();
    proxy.cut();
    await expect(reader.next()).rejects.toMatchObject({ name: "ConnectionFault", kind: "cut", sent: true });
  });

  it("does not take a redirect for an answer", async () => {
    await using there = await server();
    const client = fetchClient({ origin: there.origin });
    await expect(
      client.send(post(there.origin, "", { url: `${there.origin}/sign-in` })),
    ).rejects.toMatchObject({ kind: "not-our-answer", sent: true });
    const followed = fetchClient({
      origin: there.origin,
      fetch: (url) => fetch(url, { redirect: "follow" }), // a fetch that follows anyway
    });
    await expect(
      followed.send(post(there.origin, "", { url: `${there.origin}/sign-in` })),
    ).rejects.toMatchObject({ kind: "not-our-answer" });
  });

  it("knows that nobody listens where the engine says so", async () => {
    const client = fetchClient({ origin: "http://127.0.0.1:9" });
    await expect(client.send(post("http://127.0.0.1:9", ""))).rejects.toMatchObject({
      name: "ConnectionFault",
    });
  });

  it("cuts requests under way when it closes, and takes none after it retired", async () => {
    await using there = await server();
    const client = fetchClient({ origin: there.origin });
    const answer = await client.send(post(there.origin, "part"));
    const reader = answer.body[Symbol.asyncIterator]();
    await reader.next();
    client.retire();
    await expect(client.send(post(there.origin, "x"))).rejects.toMatchObject({ kind: "cut", sent: false });
    client.close();
    await expect(reader.next()).rejects.toMatchObject({ kind: "cut", sent: true });
    await there.cut;
  });

  it("reaches a server whose CORS hides it, and says no more than that", async () => {
    const modes: (string | undefined)[] = [];
    const client = fetchClient({
      origin: "https://a.example",
      fetch: (_, init) => {
        modes.push(init?.mode);
        if (init?.mode !== "no-cors") return Promise.reject(new TypeError("Failed to fetch"));
        return Promise.resolve(new Response(null));
      },
    });
    expect(await client.reach("https://a.example/", new AbortController().signal)).toBeUndefined();
    expect(modes).toEqual([undefined, "no-cors"]);
    await using there = await server();
    const open = fetchClient({ origin: there.origin });
    const headers = await open.reach(`${there.origin}/`, new AbortController().signal);
    expect(headers?.has("date")).toBe(true);
  });
});
