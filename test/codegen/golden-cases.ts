/** Schemas that are odd in one way each, and the options that their output is kept for. */
import type { Files } from "./compile.ts";

export interface GoldenCase {
  readonly files: Files;
  /** Default: `target=ts`. */
  readonly options?: string;
}

const everyKind = `// Copyright of the schema.

syntax = "proto3";

// Comments of the package.
package kinds.v1;

import "google/protobuf/empty.proto";
import "holdfast/v1/annotations.proto";

option (holdfast.v1.defaults) = {
  query_budget: { seconds: 5 }
  signal_budget: { seconds: 1, nanos: 500000000 }
  outbox: EARLY
};

message Issue { string id = 1; }

// The board of issues.
service BoardService {
  // Reads one issue.
  rpc Get(Issue) returns (Issue) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (holdfast.v1.query) = { budget: { seconds: 10 } };
  }
  rpc List(Issue) returns (Issue) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (holdfast.v1.query) = {};
  }
  // Takes an issue.
  rpc Claim(Issue) returns (Issue) {
    option (holdfast.v1.command) = { budget: { seconds: 30 }, outbox: LATE, merge: true };
  }
  rpc Drop(Issue) returns (Issue) {
    option (holdfast.v1.command) = { delivery: AT_MOST_ONCE };
  }
  rpc Pay(Issue) returns (Issue) {
    option (holdfast.v1.command) = {
      outbox: NONE
      effects: EXTERNAL
      keep: MARKER
      handler_most: { seconds: 120 }
      require_id: true
    };
  }
  rpc Note(Issue) returns (Issue) { option (holdfast.v1.command) = {}; }
  rpc Typing(Issue) returns (google.protobuf.Empty) { option (holdfast.v1.signal) = { budget: { nanos: 1 } }; }
  rpc Ping(google.protobuf.Empty) returns (google.protobuf.Empty) { option (holdfast.v1.signal) = {}; }
  rpc Tail(Issue) returns (stream Issue) {
    option (holdfast.v1.stream) = { keep: 200, room: 100, idle: { seconds: 20 } };
  }
  rpc Follow(Issue) returns (stream Issue) { option (holdfast.v1.stream) = {}; }
  rpc Alive(Issue) returns (Issue) { option (holdfast.v1.heartbeat) = {}; }
}

// Without any annotation.
service PlainService {
  rpc Read(Issue) returns (Issue) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Put(Issue) returns (Issue) { option idempotency_level = IDEMPOTENT; }
  rpc Post(Issue) returns (Issue);
  rpc Down(Issue) returns (stream Issue);
  rpc Up(stream Issue) returns (Issue);
  rpc Both(stream Issue) returns (stream Issue);
}

service NotebookService {
  option (holdfast.v1.object) = {
    params: "kinds.v1.Issue"
    variants: [ { name: "reader", members: ["Entries"] }, { name: "editor" } ]
  };
  rpc Entries(google.protobuf.Empty) returns (stream Issue) { option (holdfast.v1.state) = {}; }
  rpc Add(Issue) returns (Issue) { option (holdfast.v1.command) = {}; }
}
`;

const objects = `syntax = "proto3";
package objects.v1;

import "a/v1/account.proto";
import "google/protobuf/empty.proto";
import "holdfast/v1/annotations.proto";

message Entry { string id = 1; }
message Outer { message Params { string id = 1; } }

// Readers see it, editors write in it, and owners have all of it.
service NotebookService {
  option (holdfast.v1.object) = {
    params: "a.v1.Account"
    linger: { seconds: 300 }
    ready_timeout: { seconds: 5 }
    serial: true
    variants: [
      { name: "reader", members: ["Seen", "Entries"] },
      { name: "editor", members: ["Entries", "Add", "Count"] },
      { name: "co-owner" }
    ]
  };
  // What is written.
  rpc Entries(google.protobuf.Empty) returns (stream Entry) { option (holdfast.v1.state) = {}; }
  // Who saw it.
  rpc Seen(google.protobuf.Empty) returns (stream a.v1.Account) {
    option deprecated = true;
    option (holdfast.v1.state) = {};
  }
  rpc Add(Entry) returns (Entry) { option (holdfast.v1.command) = { outbox: LATE, budget: { seconds: 20 } }; }
  rpc Poke(Entry) returns (Entry) { option (holdfast.v1.command) = { delivery: AT_MOST_ONCE }; }
  rpc Count(Entry) returns (Entry) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (holdfast.v1.query) = {};
  }
  rpc Typing(Entry) returns (google.protobuf.Empty) { option (holdfast.v1.signal) = {}; }
  // Without an annotation, it is what its idempotency says.
  rpc Plain(Entry) returns (Entry);
}

// One for everybody.
service CounterService {
  option (holdfast.v1.object) = {};
  rpc Total(google.protobuf.Empty) returns (stream Entry) { option (holdfast.v1.state) = {}; }
  rpc Increase(Entry) returns (Entry) { option (holdfast.v1.command) = {}; }
}

// Everybody sees a part of it.
service Window {
  option deprecated = true;
  option (holdfast.v1.object) = {
    params: "objects.v1.Outer.Params"
    variants: { name: "viewer", members: "Content" }
  };
  rpc Content(google.protobuf.Empty) returns (stream Entry) { option (holdfast.v1.state) = {}; }
  rpc Write(Entry) returns (Entry) { option (holdfast.v1.command) = {}; }
}

// Called beside what is held.
service LibraryService { rpc Find(Entry) returns (Entry); }
`;

const objectNames = `syntax = "proto3";
package held.v1;

import "google/protobuf/empty.proto";
import "holdfast/v1/annotations.proto";

message Thing { string id = 1; }
message Member { string id = 1; }
message StateMember { string id = 1; }
message Reference { string id = 1; }
message ObjectDefinition { string id = 1; }
message StateDefinition { string id = 1; }
message Pick { string id = 1; }
message ReservedReference { string id = 1; }

service ReservedService {
  option (holdfast.v1.object) = {
    params: "held.v1.Pick"
    variants: [
      { name: "read-only", members: ["New", "Then", "Watch"] },
      { name: "readOnly", members: ["Constructor", "Delete"] },
      { name: "then" }, { name: "constructor", members: "Watch" }, { name: "new" }, { name: "x-1", members: "Get" }
    ]
  };
  rpc Watch(google.protobuf.Empty) returns (stream Member) { option (holdfast.v1.state) = {}; }
  rpc Get(Reference) returns (StateMember);
RPCS
}

// Its names are taken by what the variants of others become.
service ReservedThenService {
  option (holdfast.v1.object) = { params: "held.v1.Member" };
  rpc Get(ObjectDefinition) returns (StateDefinition);
}
service ReservedReferenceService { option (holdfast.v1.object) = {}; }
service PickService { option (holdfast.v1.object) = {}; }
service deleteService { option (holdfast.v1.object) = {}; }
service ObjectService { option (holdfast.v1.object) = {}; }
`;

const rpcs = (names: string): string =>
  names
    .split(" ")
    .map((name) => `  rpc ${name}(Thing) returns (Thing);`)
    .join("\n");

const names = `syntax = "proto3";
package names.v1;

message Thing { string id = 1; }
message Account { string id = 1; }
message Calls { string id = 1; }
message StreamOptions { string id = 1; }
message Promise { string id = 1; }
message AsyncIterable { string id = 1; }
message boardMethods { string id = 1; }
message MessageInitShape { string id = 1; }

// Words of the language and members of every object.
service ReservedService {
${rpcs("Delete New Class Import Await Default Then In Enum Constructor ToString ToJSON ValueOf HasOwnProperty __proto__ Prototype ToLocaleString Function Arguments Static async var _hidden URLFor get_thing Name Length")}
}

// Named like messages and like what the generated code uses.
service AccountService {
  rpc Get(Account) returns (Calls);
  rpc Wait(Promise) returns (StreamOptions);
  rpc Watch(AsyncIterable) returns (stream Promise);
  rpc Send(stream boardMethods) returns (MessageInitShape);
}

// Two that would get one name, and two that differ in one letter's case.
service Board { rpc Get(Thing) returns (Thing); }
service BoardService { rpc Get(Thing) returns (Thing); }
service board { rpc Get(Thing) returns (Thing); }
service BoardClient { rpc Get(Thing) returns (Thing); }

service Service { rpc Get(Thing) returns (Thing); }
service link { rpc Get(Thing) returns (Thing); }
service deleteService { rpc Get(Thing) returns (Thing); }
service Object { rpc Get(Thing) returns (stream Thing); }
service PromiseService { rpc Get(Thing) returns (Thing); }
service then { rpc Get(Thing) returns (Thing); }
service CommandDefinition { rpc Get(Thing) returns (Thing); }
`;

const account = (name: string, field: string): string => `syntax = "proto3";
package ${name}.v1;
message Account { string ${field} = 1; }
`;

const nested = (head: string, label: string): string => `${head}
package nested.v1;

import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";

message Outer {
  ${label}string id = 1;
  message Inner {
    message Deep { }
  }
}

service NestedService {
  rpc Get(Outer.Inner) returns (Outer.Inner.Deep);
  rpc When(google.protobuf.Timestamp) returns (google.protobuf.Struct);
  rpc Say(stream google.protobuf.StringValue) returns (stream google.protobuf.Value);
}
`;

export const goldenCases: Readonly<Record<string, GoldenCase>> = {
  kinds: { files: { "kinds/v1/kinds.proto": everyKind }, options: "target=ts+js+dts" },
  names: { files: { "names/v1/names.proto": names }, options: "target=ts+js+dts" },
  objects: {
    files: { "objects/v1/objects.proto": objects, "a/v1/account.proto": account("a", "session") },
    options: "target=ts+js+dts",
  },
  "object-names": {
    files: {
      "held/v1/names.proto": objectNames.replace(
        "RPCS",
        rpcs(
          "Delete New Class Import Await Default Then In Enum Constructor ToString ToJSON ValueOf __proto__ HasOwnProperty Function Name Length Link Request Hold",
        ),
      ),
    },
    options: "target=ts+js+dts",
  },
  packages: {
    files: {
      "a/v1/account.proto": account("a", "of_a"),
      "b/v1/account.proto": `syntax = "proto3";
package b.v1;
import "a/v1/account.proto";
import "b/v1/all.proto";
message Account { string of_b = 1; }
service AccountService {
  rpc Move(a.v1.Account) returns (Account);
  rpc Back(Account) returns (a.v1.Account);
  rpc Third(c.v1.Account) returns (stream c.v1.Account);
}
`,
      // The file of a third package, which b/v1/account.proto reaches only through this one.
      "b/v1/all.proto": `syntax = "proto3";
package b.v1;
import public "c/v1/account.proto";
`,
      "c/v1/account.proto": account("c", "of_c"),
    },
  },
  "nested-proto2": { files: { "nested.proto": nested('syntax = "proto2";', "required ") } },
  "nested-editions": {
    files: { "nested.proto": nested('edition = "2023";', "") },
    options: "target=ts,ts_nocheck=true",
  },
  comments: {
    files: {
      "comments.proto": `syntax = "proto3";
message Thing { option deprecated = true; }

// Ends early: */ const injected = 1; /*
//
//   indented, with \`code\`
service OldService {
  option deprecated = true;
  // Detached.

  // Ends early too: */ injected: 1; /**
  rpc Old(Thing) returns (Thing) { option deprecated = true; }
  rpc Bare(Thing) returns (Thing);
  /* A block
   * comment. */
  rpc Block(Thing) returns (Thing);
}
`,
    },
  },
  empty: {
    files: {
      "empty.proto": 'syntax = "proto3";\nservice EmptyService {}\n',
      "messages.proto": 'syntax = "proto3";\nmessage Alone {}\n',
      "objects.proto": `syntax = "proto3";
import "holdfast/v1/annotations.proto";
service OnlyObjectService { option (holdfast.v1.object) = {}; }
`,
    },
    options: "target=ts+js+dts,keep_empty_files=true",
  },
  commonjs: {
    files: { "kinds/v1/kinds.proto": everyKind },
    options: "target=js,js_import_style=legacy_commonjs",
  },
};
