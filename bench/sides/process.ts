/** One side of a measurement in a process of its own: `process.ts server NAME [FILE]` or `process.ts client NAME`. */
import { peerNamed } from "../peers.ts";
import { clientSide } from "./client-side.ts";
import { offer } from "./remote.ts";
import { serverSide } from "./server-side.ts";

const [, , role, name = "", file] = process.argv;
const peer = await peerNamed(name);
offer(role === "server" ? await serverSide(peer, file) : clientSide(peer));
