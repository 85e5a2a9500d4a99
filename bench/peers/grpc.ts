/** @grpc/grpc-js with protobuf-es for its messages: unary calls, server streaming, and its duplex as a pipe. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  makeClientConstructor,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { type Connected, type Note as PlainNote, type Peer, pouredText, type Served } from "../peer.ts";
import { type Note, NoteSchema } from "../load/gen/bench/load/v1/load_pb.ts";

const serialize = (note: Note): Buffer => Buffer.from(toBinary(NoteSchema, note));
const deserialize = (bytes: Buffer): Note => fromBinary(NoteSchema, bytes);

function method(name: string, requestStream: boolean, responseStream: boolean) {
  return {
    path: `/bench.load.v1.${name}`,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

const service = {
  ask: method("WorkService/Ask", false, false),
  pour: method("WorkService/Pour", false, true),
  tail: method("WorkService/Tail", false, true),
  pipe: method("DuplexService/Ask", true, true),
} satisfies ServiceDefinition;

const noteOf = (note: PlainNote & { readonly id?: number }): Note => create(NoteSchema, note);
const answered = ({ text, n, id }: Note): Note => noteOf({ text, n: n + 1, id });

async function serve(): Promise<Served> {
  const followers = new Set<ServerWritableStream<Note, Note>>();
  const server = new Server({ "grpc.max_concurrent_streams": 20_000 });
  server.addService(service, {
    ask: (call: ServerUnaryCall<Note, Note>, reply: sendUnaryData<Note>) =>
      reply(null, answered(call.request)),
    pour,
    tail(call: ServerWritableStream<Note, Note>) {
      followers.add(call);
      call.on("cancelled", () => followers.delete(call));
      call.write(noteOf({ text: "open", n: 0 }));
    },
    pipe(call: ServerDuplexStream<Note, Note>) {
      call.on("data", (note: Note) => call.write(answered(note)));
      call.on("end", () => call.end());
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return {
    port,
    publish(note) {
      const message = noteOf(note);
      for (const call of followers) call.write(message);
    },
  };
}

/** As fast as the stream takes them, 512 in one turn. */
function pour(call: ServerWritableStream<Note, Note>): void {
  let n = 0;
  const more = (): void => {
    if (call.cancelled) return;
    let flows = true;
    for (let i = 0; i < 512 && flows; i += 1) flows = call.write(noteOf({ text: pouredText, n: (n += 1) }));
    if (flows) setImmediate(more);
    else call.once("drain", more);
  };
  more();
}

interface Client {
  waitForReady(deadline: number, done: (error?: Error) => void): void;
  ask(note: Note, done: (error: Error | null, reply: Note) => void): void;
  pour(note: Note): ClientReadableStream<Note>;
  tail(note: Note): ClientReadableStream<Note>;
  pipe(): ClientDuplexStream<Note, Note>;
}

async function open(port: number): Promise<Client> {
  const Constructor = makeClientConstructor(service, "Work");
  const client = new Constructor(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
  }) as unknown as Client;
  await new Promise<void>((resolve, reject) => {
    client.waitForReady(Date.now() + 10_000, (error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
  });
  return client;
}

async function connect(port: number): Promise<Connected> {
  const client = await open(port);
  return {
    ask: (note) =>
      new Promise((resolve, reject) => {
        client.ask(noteOf(note), (error, reply) => {
          if (error === null) resolve(reply);
          else reject(error);
        });
      }),
    async pour(got) {
      const call = client.pour(noteOf({ text: "", n: 0 }));
      call.on("error", () => undefined); // of the cancelling
      await new Promise<void>((resolve) => {
        let wants = true;
        call.on("data", () => {
          if (!wants || got(1)) return;
          wants = false;
          call.cancel();
          resolve();
        });
      });
    },
    async follow(heard) {
      const call = client.tail(noteOf({ text: "", n: 0 }));
      await new Promise<void>((resolve) => {
        call.on("data", ({ n }: Note) => {
          if (n === 0) resolve();
          else heard(1);
        });
      });
    },
  };
}

async function connectDuplex(port: number): Promise<Connected> {
  const call = (await open(port)).pipe();
  const waiting = new Map<number, (note: Note) => void>();
  call.on("data", (note: Note) => {
    const resolve = waiting.get(note.id);
    waiting.delete(note.id);
    resolve?.(note);
  });
  let id = 0;
  return {
    ask: ({ text, n }) =>
      new Promise((resolve) => {
        id += 1;
        waiting.set(id, resolve);
        call.write(noteOf({ text, n, id }));
      }),
  };
}

export const peers: readonly Peer[] = [
  { name: "gRPC", serve, connect },
  { name: "gRPC, duplex", serve, connect: connectDuplex },
];
