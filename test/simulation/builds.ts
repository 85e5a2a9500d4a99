/**
 * The two builds of the simulation's schema. The second is what is generated; the first is made from it here, by
 * leaving out of its files what came later, as a program that was built before has it.
 */
import {
  clone,
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Lists, type ListsDefinition } from "./gen/test/simulation/v1/lists_holdfast.ts";
import { file_test_simulation_v1_lists as listsFile } from "./gen/test/simulation/v1/lists_pb.ts";
import {
  Queue,
  type QueueDefinition,
  Room,
  type RoomDefinition,
  Shelf,
  type ShelfDefinition,
} from "./gen/test/simulation/v1/shelves_holdfast.ts";
import {
  file_test_simulation_v1_shelves as shelvesFile,
  QueueWaitingSchema,
  RoomViewSchema,
  ShelfKeysSchema,
  ShelfKnocksSchema,
  ShelfMarksSchema,
  StandSchema,
} from "./gen/test/simulation/v1/shelves_pb.ts";

/** Which build of its schema a program has. */
export type Build = 1 | 2;

/** What a build has of the schema. What the first lacks is absent in it, whatever its type says. */
export interface Schema {
  readonly build: Build;
  readonly Lists: ListsDefinition;
  readonly Shelf: ShelfDefinition;
  readonly Queue: QueueDefinition;
  readonly Room: RoomDefinition;
  readonly messages: typeof secondMessages;
}

const secondMessages = {
  Keys: ShelfKeysSchema,
  Knocks: ShelfKnocksSchema,
  Marks: ShelfMarksSchema,
  Waiting: QueueWaitingSchema,
  View: RoomViewSchema,
  Stand: StandSchema,
};

/** The second build's methods and fields. */
const laterMethods: readonly string[] = ["Stamp", "Marks", "Mark"];
const laterFields: readonly string[] = ["note", "notes"];

function earlier(file: DescFile): FileRegistry {
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  for (const service of proto.service)
    service.method = service.method.filter(({ name }) => !laterMethods.includes(name));
  for (const message of proto.messageType) {
    message.field = message.field.filter(({ name }) => !laterFields.includes(name));
    message.nestedType = message.nestedType.filter(({ name }) => name !== "NotesEntry");
  }
  return createFileRegistry(proto, (name) => file.dependencies.find((one) => one.proto.name === name));
}

interface Definition {
  readonly $service: DescService;
}
type Members = Readonly<Record<string, { readonly method: DescMethod }>>;

/** A definition with the methods of before alone, as the generator would write it for their service. */
function asBefore<Its extends Definition>(definition: Its, registry: FileRegistry): Its {
  const service = known(registry.getService(definition.$service.typeName));
  const before = (members: Members): Members =>
    Object.fromEntries(
      Object.entries(members).flatMap(([name, member]) => {
        const method = service.method[name];
        return method === undefined ? [] : [[name, { ...member, method }]];
      }),
    );
  const its = definition as Its & {
    readonly $methods?: Members;
    readonly $members?: Members;
    readonly $params?: DescMessage;
    readonly $variants?: readonly { readonly name: string; readonly members: readonly string[] }[];
  };
  const { $methods, $members, $params, $variants } = its;
  const methods = before($methods ?? $members ?? {});
  const facts = Object.entries(its).filter(([name]) => name.startsWith("$"));
  return {
    ...Object.fromEntries(facts),
    $service: service,
    ...($methods === undefined ? {} : { $methods: methods }),
    ...($members === undefined ? {} : { $members: methods }),
    ...($params === undefined ? {} : { $params: known(registry.getMessage($params.typeName)) }),
    ...($variants === undefined
      ? {}
      : {
          $variants: $variants.map(({ name, members }) => ({
            name,
            members: members.filter((member) => methods[member] !== undefined),
          })),
        }),
    ...methods,
  } as unknown as Its;
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new RangeError("the first build lacks what it has");
  return found;
}

const listsBefore = earlier(listsFile);
const shelvesBefore = earlier(shelvesFile);

const first: Schema = {
  build: 1,
  Lists: asBefore(Lists, listsBefore),
  Shelf: asBefore(Shelf, shelvesBefore),
  Queue: asBefore(Queue, shelvesBefore),
  Room: asBefore(Room, shelvesBefore),
  messages: Object.fromEntries(
    Object.entries(secondMessages).map(([name, { typeName }]) => [name, shelvesBefore.getMessage(typeName)]),
  ) as typeof secondMessages,
};
const second: Schema = { build: 2, Lists, Shelf, Queue, Room, messages: secondMessages };

export function schemaOf(build: Build): Schema {
  return build === 1 ? first : second;
}

/** What the second build's programs tell of a key. */
export function noteOf(key: string): string {
  return `of ${key}`;
}
