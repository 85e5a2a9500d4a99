/**
 * Every fault of a schema, with the whole message that tells of it. A body stands behind one line that names
 * the package `t` and gives it the annotations, Empty, and the messages M and Params; so it begins on line 2.
 */
export interface FaultCase {
  readonly body: string;
  /** Each without `t.proto:`. */
  readonly faults: readonly string[];
}

const service = (rpcs: string): string => `service Board {\n${rpcs}\n}`;
const query = (options: string): string =>
  service(
    `  rpc Get(M) returns (M) {\n    option idempotency_level = NO_SIDE_EFFECTS;\n    option (holdfast.v1.query) = ${options};\n  }`,
  );
const command = (options: string): string =>
  service(`  rpc Claim(M) returns (M) {\n    option (holdfast.v1.command) = ${options};\n  }`);
const stream = (options: string): string =>
  service(`  rpc Tail(M) returns (stream M) {\n    option (holdfast.v1.stream) = ${options};\n  }`);
const heartbeat = (options: string): string =>
  service(`  rpc Alive(M) returns (M) {\n    option (holdfast.v1.heartbeat) = ${options};\n  }`);
const object = (options: string, rpcs = ""): string =>
  `service Notebook {\n  option (holdfast.v1.object) = ${options};\n${rpcs}\n}`;
const state = "  rpc Entries(google.protobuf.Empty) returns (stream M) { option (holdfast.v1.state) = {}; }";
const params = (fields: string): string => `${object('{ params: "t.Own" }')}\nmessage Own { ${fields} }`;
const unstable = (field: string, why: string): string =>
  `3:10: t.Notebook: has params t.Own, whose field ${field} is ${why} and so has no stable key. Take the field out, or name the object by a string, an integer, a bool, an enum, bytes or a message of these.`;
const longer = "Make it longer than zero, or leave it out to take the default.";
const isUnary = (kind: string): string =>
  `A ${kind} is one request and one reply: take \`stream\` away, or annotate it with (holdfast.v1.stream) if it streams its reply.`;
const room = "so that a reader that lags can catch up.";

export const faultCases: Readonly<Record<string, FaultCase>> = {
  "two kinds on one method": {
    body: service(
      "  rpc Claim(M) returns (M) {\n    option (holdfast.v1.command) = {};\n    option (holdfast.v1.signal) = {};\n  }",
    ),
    faults: [
      "5:12: t.Board.Claim: is annotated as command and signal. A method has one kind: keep the annotation that is meant.",
    ],
  },
  "a query that may change something": {
    body: service("  rpc Get(M) returns (M) { option (holdfast.v1.query) = {}; }"),
    faults: [
      "3:35: t.Board.Get: is a query without `option idempotency_level = NO_SIDE_EFFECTS`. Add that option, or make the method a command if it changes something.",
    ],
  },
  "a query that is only idempotent": {
    body: service(
      "  rpc Get(M) returns (M) { option (holdfast.v1.query) = {}; option idempotency_level = IDEMPOTENT; }",
    ),
    faults: [
      "3:35: t.Board.Get: is a query without `option idempotency_level = NO_SIDE_EFFECTS`. Add that option, or make the method a command if it changes something.",
    ],
  },
  "a command that says it changes nothing": {
    body: service(
      "  rpc Get(M) returns (M) { option (holdfast.v1.command) = {}; option idempotency_level = NO_SIDE_EFFECTS; }",
    ),
    faults: [
      "3:35: t.Board.Get: is a command with `option idempotency_level = NO_SIDE_EFFECTS`. Take that option away, or make the method a query if it changes nothing.",
    ],
  },
  "a stream that streams nothing": {
    body: service("  rpc Tail(M) returns (M) { option (holdfast.v1.stream) = {}; }"),
    faults: [
      "3:36: t.Board.Tail: is a stream but neither streams its reply nor its requests. A stream takes one request and streams its reply: `rpc Tail(M) returns (stream M)`.",
    ],
  },
  "a stream of requests": {
    body: service("  rpc Tail(stream M) returns (M) { option (holdfast.v1.stream) = {}; }"),
    faults: [
      "3:43: t.Board.Tail: is a stream but streams its requests. A stream takes one request and streams its reply: `rpc Tail(M) returns (stream M)`.",
    ],
  },
  "a stream both ways": {
    body: service("  rpc Tail(stream M) returns (stream M) { option (holdfast.v1.stream) = {}; }"),
    faults: [
      "3:50: t.Board.Tail: is a stream but streams its requests and its replies. A stream takes one request and streams its reply: `rpc Tail(M) returns (stream M)`.",
    ],
  },
  "a state that streams nothing": {
    body: object(
      "{}",
      "  rpc Entries(google.protobuf.Empty) returns (M) { option (holdfast.v1.state) = {}; }",
    ),
    faults: [
      "4:59: t.Notebook.Entries: is a state but neither streams its reply nor its requests. A state takes one request and streams its reply: `rpc Entries(Empty) returns (stream M)`.",
    ],
  },
  "a heartbeat that streams": {
    body: service("  rpc Alive(M) returns (stream M) { option (holdfast.v1.heartbeat) = {}; }"),
    faults: [`3:44: t.Board.Alive: is a heartbeat but streams its reply. ${isUnary("heartbeat")}`],
  },
  "a query that streams": {
    body: service(
      "  rpc Get(M) returns (stream M) { option (holdfast.v1.query) = {}; option idempotency_level = NO_SIDE_EFFECTS; }",
    ),
    faults: [`3:42: t.Board.Get: is a query but streams its reply. ${isUnary("query")}`],
  },
  "a command that streams": {
    body: service("  rpc Claim(stream M) returns (M) { option (holdfast.v1.command) = {}; }"),
    faults: [`3:44: t.Board.Claim: is a command but streams its requests. ${isUnary("command")}`],
  },
  "a signal that streams": {
    body: service(
      "  rpc Typing(M) returns (stream google.protobuf.Empty) { option (holdfast.v1.signal) = {}; }",
    ),
    faults: [`3:65: t.Board.Typing: is a signal but streams its reply. ${isUnary("signal")}`],
  },
  "a signal with a reply": {
    body: service("  rpc Typing(M) returns (M) { option (holdfast.v1.signal) = {}; }"),
    faults: [
      "3:38: t.Board.Typing: is a signal that replies t.M. Let it return google.protobuf.Empty, or make it a command if the reply matters.",
    ],
  },
  "a negative budget": {
    body: query("{ budget: { seconds: -1, nanos: -500000000 } }"),
    faults: [`5:12: t.Board.Get: sets budget to -1.5 s. ${longer}`],
  },
  "a budget of zero": {
    body: command("{ budget: {} }"),
    faults: [`4:12: t.Board.Claim: sets budget to 0 s. ${longer}`],
  },
  "a signal's budget below zero": {
    body: service(
      "  rpc Typing(M) returns (google.protobuf.Empty) { option (holdfast.v1.signal) = { budget: { nanos: -1000000 } }; }",
    ),
    faults: [`3:58: t.Board.Typing: sets budget to -1 ms. ${longer}`],
  },
  "a duration out of range": {
    body: command("{ budget: { seconds: 9223372036854775807 } }"),
    faults: [
      "4:12: t.Board.Claim: sets budget to what is not a duration (seconds: 9223372036854775807, nanos: 0). Keep seconds within 315576000000 (10,000 years) and nanos within 999999999, both with the same sign.",
    ],
  },
  "a duration of two signs": {
    body: command("{ budget: { seconds: 1, nanos: -1 } }"),
    faults: [
      "4:12: t.Board.Claim: sets budget to what is not a duration (seconds: 1, nanos: -1). Keep seconds within 315576000000 (10,000 years) and nanos within 999999999, both with the same sign.",
    ],
  },
  "a handler_most of zero": {
    body: command("{ handler_most: {} }"),
    faults: [`4:12: t.Board.Claim: sets handler_most to 0 s. ${longer}`],
  },
  "an idle of zero": {
    body: stream("{ idle: {} }"),
    faults: [`4:12: t.Board.Tail: sets idle to 0 s. ${longer}`],
  },
  "a room above half of keep": {
    body: stream("{ keep: 100, room: 51 }"),
    faults: [
      `4:12: t.Board.Tail: has a room of 51, above half of its keep of 100. Make room 50 or less, or keep 102 or more, ${room}`,
    ],
  },
  "a keep too small for the default room": {
    body: stream("{ keep: 200 }"),
    faults: [
      `4:12: t.Board.Tail: has a room of 256 (the default), above half of its keep of 200. Make room 100 or less, or keep 512 or more, ${room}`,
    ],
  },
  "a keep of one": {
    body: stream("{ keep: 1, room: 1 }"),
    faults: [
      `4:12: t.Board.Tail: has a room of 1, above half of its keep of 1. Make keep 2 or more and room at most half of it, ${room}`,
    ],
  },
  "an every of zero": {
    body: heartbeat("{ every: {} }"),
    faults: [`4:12: t.Board.Alive: sets every to 0 s. ${longer}`],
  },
  "a gone_after of zero": {
    body: heartbeat("{ gone_after: {} }"),
    faults: [`4:12: t.Board.Alive: sets gone_after to 0 s. ${longer}`],
  },
  "a gone_after not above every": {
    body: heartbeat("{ every: { seconds: 30 }, gone_after: { seconds: 30 } }"),
    faults: [
      "4:12: t.Board.Alive: has a gone_after of 30 s, which is not above its every of 30 s. Make gone_after several times every, so that one lost beat does not end a session.",
    ],
  },
  "an every above the default gone_after": {
    body: heartbeat("{ every: { seconds: 200 } }"),
    faults: [
      "4:12: t.Board.Alive: has a gone_after of 180 s, which is not above its every of 200 s. Make gone_after several times every, so that one lost beat does not end a session.",
    ],
  },
  "a second heartbeat": {
    body: service(
      "  rpc Alive(M) returns (M) { option (holdfast.v1.heartbeat) = {}; }\n  rpc Beat(M) returns (M) { option (holdfast.v1.heartbeat) = {}; }",
    ),
    faults: [
      "4:36: t.Board.Beat: is a second heartbeat beside rpc Alive. A service has one heartbeat: keep the one that carries the session's facts.",
    ],
  },
  "merge without an outbox": {
    body: command("{ merge: true }"),
    faults: [
      "4:12: t.Board.Claim: has `merge: true` without an outbox, in which alone commands wait to be merged. Add `outbox: LATE` or `outbox: EARLY`, or take `merge` away.",
    ],
  },
  "merge with the outbox turned off": {
    body: `option (holdfast.v1.defaults) = { outbox: LATE };\n${command("{ merge: true, outbox: NONE }")}`,
    faults: [
      "5:12: t.Board.Claim: has `merge: true` without an outbox, in which alone commands wait to be merged. Make its outbox LATE or EARLY, or take `merge` away.",
    ],
  },
  "an outbox for a command that is sent at most once": {
    body: command("{ outbox: EARLY, delivery: AT_MOST_ONCE }"),
    faults: [
      "4:12: t.Board.Claim: has `outbox: EARLY` with `delivery: AT_MOST_ONCE`: an outbox sends again, which this delivery forbids. Take one of the two away.",
    ],
  },
  "defaults that are not above zero": {
    body: "option (holdfast.v1.defaults) = {\n  query_budget: {}, command_budget: { seconds: -2 }, signal_budget: { nanos: 1000000000 }\n};",
    faults: [
      `2:8: sets query_budget to 0 s. ${longer}`,
      `2:8: sets command_budget to -2 s. ${longer}`,
      "2:8: sets signal_budget to what is not a duration (seconds: 0, nanos: 1000000000). Keep seconds within 315576000000 (10,000 years) and nanos within 999999999, both with the same sign.",
    ],
  },
  "a state outside an object": {
    body: service(state),
    faults: [
      "3:66: t.Board.Entries: is a state outside a held object. Annotate its service with (holdfast.v1.object), or make it a (holdfast.v1.stream).",
    ],
  },
  "a state with a request": {
    body: object("{}", "  rpc Entries(M) returns (stream M) { option (holdfast.v1.state) = {}; }"),
    faults: [
      "4:46: t.Notebook.Entries: is a state that takes t.M. Let it take google.protobuf.Empty: the object's params say which object it is.",
    ],
  },
  "a stream in an object": {
    body: object("{}", "  rpc Tail(M) returns (stream M) { option (holdfast.v1.stream) = {}; }"),
    faults: [
      "4:43: t.Notebook.Tail: is a stream in a held object. Make it a (holdfast.v1.state), which gives the newest value, or move it to a service of its own.",
    ],
  },
  "a plain stream in an object": {
    body: object("{}", "  rpc Tail(M) returns (stream M);"),
    faults: [
      "4:3: t.Notebook.Tail: streams without an annotation in a held object. Annotate it with (holdfast.v1.state), or move it to a service of its own.",
    ],
  },
  "a heartbeat in an object": {
    body: object("{}", "  rpc Alive(M) returns (M) { option (holdfast.v1.heartbeat) = {}; }"),
    faults: [
      "4:37: t.Notebook.Alive: is a heartbeat in a held object. A heartbeat belongs to a session: move it to a service that is no held object.",
    ],
  },
  "a negative linger": {
    body: object("{ linger: { seconds: -1 } }"),
    faults: [
      "3:10: t.Notebook: sets linger to -1 s. Make it zero or longer, or leave it out to take the default.",
    ],
  },
  "a linger that is no duration": {
    body: object("{ linger: { nanos: -1000000000 } }"),
    faults: [
      "3:10: t.Notebook: sets linger to what is not a duration (seconds: 0, nanos: -1000000000). Keep seconds within 315576000000 (10,000 years) and nanos within 999999999, both with the same sign.",
    ],
  },
  "a ready_timeout of zero": {
    body: object("{ ready_timeout: {} }"),
    faults: [`3:10: t.Notebook: sets ready_timeout to 0 s. ${longer}`],
  },
  "params that no file defines": {
    body: object('{ params: "Params" }'),
    faults: [
      '3:10: t.Notebook: names params "Params", which no imported file defines. Write the full name of a message with its package, such as "notes.v1.NotebookParams", and import its file.',
    ],
  },
  "params with a float": { body: params("float price = 1;"), faults: [unstable("Own.price", "a float")] },
  "params with repeated doubles": {
    body: params("repeated double prices = 1;"),
    faults: [unstable("Own.prices", "a double")],
  },
  "params with a map": {
    body: params("map<string, string> labels = 1;"),
    faults: [unstable("Own.labels", "a map")],
  },
  "params with a repeated message": {
    body: params("repeated M parts = 1;"),
    faults: [unstable("Own.parts", "a repeated message")],
  },
  "params with an Any": {
    body: params("google.protobuf.Any what = 1;"),
    faults: [unstable("Own.what", "a google.protobuf.Any")],
  },
  "params with such fields further down, and with themselves": {
    body: params(
      "Own again = 1; message In { map<string, M> m = 1; Own back = 2; double d = 3; } oneof o { In in = 2; string s = 3; }",
    ),
    faults: [unstable("Own.in.m", "a map"), unstable("Own.in.d", "a double")],
  },
  "a variant with a member that is no rpc": {
    body: object('{ variants: { name: "reader", members: "entries" } }', state),
    faults: [
      '3:10: t.Notebook: has a variant "reader" with a member "entries", which is no rpc of the service. Name rpcs as the schema writes them: Entries.',
    ],
  },
  "a variant that names a member twice": {
    body: object('{ variants: { name: "reader", members: ["Entries", "Entries"] } }', state),
    faults: ['3:10: t.Notebook: has a variant "reader" that names Entries twice. Name every member once.'],
  },
  "two variants of one name": {
    body: object('{ variants: [{ name: "reader" }, { name: "reader" }] }'),
    faults: ['3:10: t.Notebook: has two variants named "reader". Rename one of the two.'],
  },
  "a variant without a name": {
    body: object("{ variants: {} }"),
    faults: ["3:10: t.Notebook: has a variant without a name. Give every variant a name."],
  },
  "a variant of whose name no type can be made": {
    body: object('{ variants: [{ name: "co owner" }, { name: "2nd" }, { name: "co-owner_2" }] }'),
    faults: [
      '3:10: t.Notebook: has a variant named "co owner", of which no type\'s name can be made. Name it by letters, digits, - and _, beginning with a letter.',
      '3:10: t.Notebook: has a variant named "2nd", of which no type\'s name can be made. Name it by letters, digits, - and _, beginning with a letter.',
    ],
  },
  "two rpcs that become one name": {
    body: service("  rpc Get(M) returns (M);\n  rpc get(M) returns (M);"),
    faults: ['4:3: t.Board.get: becomes "get" in TypeScript, as rpc Get does. Rename one of the two.'],
  },
  "two members of an object that become one name": {
    body: object("{}", `${state}\n  rpc entries(M) returns (M);`),
    faults: [
      '5:3: t.Notebook.entries: becomes "entries" in TypeScript, as rpc Entries does. Rename one of the two.',
    ],
  },
  "an rpc named like a reference's own member": {
    body: object("{}", "  rpc Variant(M) returns (M);"),
    faults: [
      '4:3: t.Notebook.Variant: becomes "variant" in TypeScript, which every reference to a held object has as its own. Rename it.',
    ],
  },
};
