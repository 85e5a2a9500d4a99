/**
 * How a client opens a wire: it says hello, and waits for the welcome. Until then nothing else goes either way.
 *
 * Source: design "Wires"; reliability check X5.
 */
import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import { streamIdleMs } from "../base/constants.ts";
import type { Log } from "../base/log.ts";
import { onAbort } from "../base/signals.ts";
import type { Welcome } from "../../gen/holdfast/link/v1/link_pb.ts";
import { ClientEnd, WireEnded } from "./client-end.ts";
import { type HelloParts, helloPacket, readWelcome } from "./handshake.ts";
import type { Wire } from "./wire.ts";

export interface SayHelloOptions {
  readonly clock: Clock;
  readonly log?: Log;
  /** Ms for the server's answer. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called with the open end before any message can come: its users take their kinds here. */
  readonly opened: (end: ClientEnd, welcome: Welcome) => void;
}

/**
 * Opens a wire that stands.
 *
 * @throws WireEnded when the server says no, or not now; ConnectionFault when it says nothing, or what is no
 * answer; the signal's reason when it aborts first. The wire is closed then.
 */
export function sayHello(wire: Wire, hello: HelloParts, options: SayHelloOptions): Promise<ClientEnd> {
  return new Promise((resolve, reject) => {
    let end: ClientEnd | undefined;
    let over = false;
    const settle = (): void => {
      over = true;
      timer.cancel();
      forget();
    };
    const fail = (reason: unknown): void => {
      if (over) return;
      settle();
      wire.close();
      reject(reason);
    };
    const late = (): void =>
      fail(fault("no-reply", `${wire.name}: no answer to hello in ${Math.round(options.waitMs)} ms`));
    const timer = options.clock.timer(options.waitMs, late);
    const forget = onAbort(options.signal, fail);
    wire.onPacket((packet) => {
      if (end !== undefined) end.receive(packet);
      if (over) return;
      try {
        const answer = readWelcome(hello.codec, packet);
        if (answer.kind === "end") throw new WireEnded(answer);
        end = open(wire, hello, answer.welcome, options);
        settle();
        options.opened(end, answer.welcome);
        end.receiveAll(answer.rest);
        resolve(end);
      } catch (error) {
        fail(error instanceof ConnectError ? fault("not-our-answer", error.rawMessage, error) : error);
      }
    });
    wire.onClose((cause) => {
      if (end === undefined) fail(fault("cut", `${wire.name}: closed before the welcome`, cause));
      else end.gone(cause);
    });
    if (!options.signal.aborted) wire.send(helloPacket(hello));
  });
}

function open(wire: Wire, hello: HelloParts, welcome: Welcome, options: SayHelloOptions): ClientEnd {
  const otherIdleMs = welcome.idleMs === 0 ? streamIdleMs : welcome.idleMs;
  const { clock, log } = options;
  return new ClientEnd({
    wire,
    codec: hello.codec,
    clock,
    idleMs: hello.idleMs,
    otherIdleMs,
    ...(log === undefined ? {} : { log }),
  });
}

function fault(kind: "no-reply" | "not-our-answer" | "cut", text: string, cause?: unknown): ConnectionFault {
  return new ConnectionFault(kind, text, { sent: false, cause });
}
