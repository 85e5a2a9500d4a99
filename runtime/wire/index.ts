/** `holdfast/wire`: connections that stay, for programs that bring one of their own. */
export type { Wire } from "./wire.ts";
export { packetBytesMost } from "./wire.ts";
export { connectDuplexWire } from "./connect-duplex.ts";
export { memoryPair } from "./memory.ts";
export { messagePortWire, type PortLike } from "./message-port.ts";
export { opened, subprotocolOf, type WebSocketLike, webSocketWire, wirePath } from "./websocket.ts";
