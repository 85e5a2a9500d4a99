/**
 * Opens one connection: TCP, and TLS with the protocol agreed. The socket is ours from the start, so that it
 * can be ended whatever the protocol above it thinks.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { connectFault, notHttp2Fault } from "./node-errors.ts";

/** What a program may say about TLS: authorities, a client certificate, the server's name, a pin. */
export type TlsOptions = Pick<
  ConnectionOptions,
  | "ca"
  | "cert"
  | "key"
  | "passphrase"
  | "pfx"
  | "servername"
  | "rejectUnauthorized"
  | "checkServerIdentity"
  | "minVersion"
>;

/**
 * A socket that stands, for HTTP/2.
 *
 * @throws ConnectionFault when it does not come to stand; the signal's reason once that has aborted, and
 * the socket is then gone.
 */
export function dial(url: URL, tls: TlsOptions | undefined, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === "https:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
    const socket: Socket | TLSSocket = secure
      ? connectTls({
          ...(isIP(host) === 0 ? { servername: host } : {}),
          ...tls,
          host,
          port,
          ALPNProtocols: ["h2"],
        })
      : connectTcp({ host, port });
    socket.setNoDelay(true);
    const over = (): void => {
      signal.removeEventListener("abort", onAbort);
      socket.off("close", onClose);
      socket.off("error", onError);
      // An error after the end has nobody to go to, and would end the process.
      socket.on("error", () => undefined);
    };
    const fail = (reason: unknown): void => {
      over();
      socket.destroy();
      reject(reason);
    };
    const onAbort = (): void => fail(signal.reason);
    const onError = (error: Error): void => fail(connectFault(url.origin, error));
    const onClose = (): void =>
      fail(connectFault(url.origin, Object.assign(new Error("closed"), { code: "ERR_SOCKET_CLOSED" })));
    signal.addEventListener("abort", onAbort);
    socket.on("close", onClose);
    socket.on("error", onError);
    socket.once(secure ? "secureConnect" : "connect", () => {
      if ("alpnProtocol" in socket && socket.alpnProtocol !== "h2") {
        fail(notHttp2Fault(url.origin));
        return;
      }
      over();
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}
