/**
 * A platform whose HTTP is a script: each request is answered, fails or hangs as the test says, on a clock that
 * the test moves. So whole calls run through a real link in no time, and the same every time.
 */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { ConnectionFault, type FaultKind } from "../../runtime/base/connection-fault.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { HttpClient, HttpRequest } from "../../runtime/base/http-client.ts";
import type { Mark, ServerReason } from "../../runtime/base/reasons.ts";
import { onAbort } from "../../runtime/base/signals.ts";
import { headerNames } from "../../runtime/call/headers.ts";
import type { Platform } from "../../runtime/link/platform.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { AddResponseSchema } from "../gen/test/v1/tally_pb.ts";
import { TallyService } from "../gen/test/v1/tally_pb.ts";

/** One request as the server would see it. */
export interface Seen {
  /** The rpc's name; "" for a probe. */
  readonly rpc: string;
  readonly header: Headers;
  readonly body: Uint8Array;
  /** Ms of the monotonic clock. */
  readonly at: number;
  /** Which HTTP client sent it: 1, 2, 3 … */
  readonly client: number;
}

/** What becomes of a request. */
export type Step =
  | { readonly kind: "answer"; readonly response: UniversalClientResponse; readonly afterMs: number }
  | {
      readonly kind: "fault";
      readonly fault: ConnectionFault;
      readonly sent: boolean;
      readonly afterMs: number;
    }
  | { readonly kind: "hang"; readonly sent: boolean };

type Script = (seen: Seen) => Step;

export interface ScriptedHttp {
  readonly platform: Platform<object>;
  readonly clock: VirtualClock;
  /** Calls in the order in which they came; probes are in `probes`. */
  readonly requests: readonly Seen[];
  readonly probes: readonly Seen[];
  /** How many clients were opened, and which of them are retired or closed. */
  readonly openedCount: number;
  readonly retired: readonly number[];
  readonly closed: readonly number[];
  /** Requests that have no end yet. */
  readonly underWayCount: number;
  /** The steps of the next requests, before `otherwise`. */
  next(...steps: readonly Step[]): void;
  otherwise: Script;
  /** What probes get. Default: an answer of our server. */
  probe: Script;
  /** As the platform does when the network may be back. */
  wake(): void;
  /** How many links listen for that. */
  readonly wakeCount: number;
}

/** The server's build-less header and its time. */
export const ourHeader = (clock: VirtualClock): Record<string, string> => ({
  [headerNames.server]: "1",
  [headerNames.now]: `${Math.floor(clock.now())}`,
});

/** Answers of a holdfast server, and of others. */
export interface Answers {
  /** A reply of the rpc `Add`, which all rpcs with a total can read. */
  ok(init?: MessageInitShape<typeof AddResponseSchema>, header?: HeadersInit): Step;
  /** An error of our server. */
  error(code: Code, options?: ErrorOptions): Step;
  /** One of the server's own errors, as its table has it. */
  reason(reason: ServerReason, options?: ErrorOptions & { readonly mark?: Mark }): Step;
  /** Any HTTP answer, without our header. */
  http(status: number, type: string | undefined, body: string, header?: HeadersInit): Step;
}

export interface ErrorOptions {
  readonly message?: string;
  readonly mark?: Mark | undefined;
  readonly header?: Record<string, string>;
  readonly details?: ConnectError["details"];
  /** Whether it carries `holdfast-server`. Default true. */
  readonly ours?: boolean;
}

export function answersOf(clock: VirtualClock): Answers {
  const answer = (status: number, header: Headers, bytes: Uint8Array): Step => ({
    kind: "answer",
    afterMs: 0,
    response: { status, header, body: one(bytes), trailer: new Headers() },
  });
  const error: Answers["error"] = (code, options = {}) => {
    const { message = "the server says no", mark, header, details, ours = true } = options;
    const all = new Headers({
      ...(ours ? ourHeader(clock) : {}),
      ...header,
      "content-type": "application/json",
    });
    if (mark !== undefined) all.set(headerNames.settled, mark);
    const connectError = new ConnectError(message, code);
    connectError.details = details ?? [];
    return answer(codeToHttpStatus(code), all, errorToJsonBytes(connectError, undefined));
  };
  return {
    ok: (init = {}, header) => {
      const all = new Headers(header);
      for (const [name, value] of Object.entries(ourHeader(clock))) {
        if (!all.has(name)) all.set(name, value);
      }
      all.set("content-type", "application/proto");
      return answer(200, all, bytesOf(TallyService.method.add.output, init));
    },
    error,
    reason: (reason, options = {}) => {
      const thrown = serverError(reason);
      const details = [...thrown.details, ...(options.details ?? [])];
      return error(thrown.code, { message: thrown.rawMessage, ...options, details });
    },
    http: (status, type, body, header) => {
      const all = new Headers(header);
      if (type !== undefined) all.set("content-type", type);
      return answer(status, all, new TextEncoder().encode(body));
    },
  };
}

/** No answer comes; `sent` says whether the server may have received the request. */
export function fault(kind: FaultKind, sent: boolean = !kind.startsWith("connect")): Step {
  return { kind: "fault", fault: new ConnectionFault(kind, `scripted: ${kind}`, { sent }), sent, afterMs: 0 };
}

/** Nothing comes at all. */
export function hang(sent = true): Step {
  return { kind: "hang", sent };
}

/** The same, later. */
export function after(ms: number, step: Step): Step {
  return step.kind === "hang" ? step : { ...step, afterMs: ms };
}

/** A plain success: what a Connect server without holdfast answers. */
export function plainOk(): Step {
  const header = new Headers({ "content-type": "application/proto" });
  const response = { status: 200, header, body: one(new Uint8Array()), trailer: new Headers() };
  return { kind: "answer", afterMs: 0, response };
}

function bytesOf<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Uint8Array {
  return toBinary(schema, create(schema, init));
}

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** Makes a platform; `seed` fixes its chance. */
export function scriptedHttp(seed: number | string = 1): ScriptedHttp {
  const clock = virtualClock();
  const answers = answersOf(clock);
  const requests: Seen[] = [];
  const probes: Seen[] = [];
  const steps: Step[] = [];
  const retired: number[] = [];
  const closed: number[] = [];
  const wakers = new Set<() => void>();
  let openedCount = 0;
  let underWayCount = 0;
  const openHttp = (): HttpClient => {
    openedCount += 1;
    const client = openedCount;
    const life = new AbortController();
    const run = async (
      request: HttpRequest,
      script: Script,
      list: Seen[],
    ): Promise<UniversalClientResponse> => {
      const seen = await seenOf(request, client, clock);
      list.push(seen);
      if (retired.includes(client)) throw new ConnectionFault("cut", "a retired client", { sent: false });
      underWayCount += 1;
      try {
        return await play(script(seen), request, life.signal, clock);
      } finally {
        underWayCount -= 1;
      }
    };
    return {
      send: (request) => run(request, (seen) => steps.shift() ?? scripted.otherwise(seen), requests),
      reach: async (url, signal) => {
        const request: HttpRequest = { url, method: "HEAD", header: new Headers(), body: none(), signal };
        return (await run(request, (seen) => scripted.probe(seen), probes)).header;
      },
      retire: () => retired.push(client),
      close: () => {
        closed.push(client);
        life.abort(new ConnectionFault("cut", "closed", { sent: true }));
      },
    };
  };
  const scripted: ScriptedHttp = {
    clock,
    platform: {
      clock,
      random: seededRandom(seed),
      openHttp,
      onWake: (fn) => {
        wakers.add(fn);
        return () => wakers.delete(fn);
      },
    },
    requests,
    probes,
    get openedCount() {
      return openedCount;
    },
    retired,
    closed,
    get underWayCount() {
      return underWayCount;
    },
    next: (...added) => steps.push(...added),
    otherwise: () => answers.ok(),
    probe: () => answers.ok(),
    wake: () => {
      for (const fn of wakers) fn();
    },
    get wakeCount() {
      return wakers.size;
    },
  };
  return scripted;
}

async function seenOf(request: HttpRequest, client: number, clock: VirtualClock): Promise<Seen> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request.body ?? none()) chunks.push(chunk);
  const rpc = request.method === "HEAD" ? "" : (request.url.split("/").at(-1) ?? "");
  return { rpc, header: request.header, body: Buffer.concat(chunks), at: clock.monotonic(), client };
}

async function* none(): AsyncIterable<Uint8Array> {
  yield* [];
}

/** Plays one step, unless the request or its client is ended first. */
function play(
  step: Step,
  request: HttpRequest,
  life: AbortSignal,
  clock: VirtualClock,
): Promise<UniversalClientResponse> {
  const { signal, onSent } = request;
  if (step.kind === "answer" || step.sent) onSent?.();
  return new Promise((resolve, reject) => {
    const done = (): void => {
      if (step.kind === "answer") resolve(step.response);
      else if (step.kind === "fault") reject(step.fault);
      end();
    };
    const ended = (reason: unknown): void => {
      reject(reason);
      end();
    };
    const timer = step.kind !== "hang" && step.afterMs > 0 ? clock.timer(step.afterMs, done) : undefined;
    let forget: (() => void)[] = [];
    const end = (): void => {
      timer?.cancel();
      for (const fn of forget) fn();
    };
    forget = [onAbort(signal, ended), onAbort(life, ended)];
    if (step.kind !== "hang" && step.afterMs === 0) done();
  });
}

/** All codes by which a server can end a call. */
export const allCodes: readonly Code[] = Object.values(Code).filter((code) => typeof code === "number");
