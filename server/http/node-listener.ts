/** Requests and responses of Node's HTTP/1.1 and HTTP/2 servers, as connect-node types them. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { universalResponseToNodeResponse } from "@connectrpc/connect-node";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1];
export type NodeListener = (request: NodeRequest, response: NodeResponse) => void;
