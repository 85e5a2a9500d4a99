/** Checks what makes a service a held object: its params, its durations, its variants. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import type { ObjectOptions } from "../gen/holdfast/v1/annotations_pb.ts";
import { optionNumbers } from "./annotations.ts";
import { checkAboveZero, checkKnown, checkNotBelowZero, type FaultPlace } from "./check-field.ts";
import type { Fault } from "./fault.ts";
import type { ServiceModel } from "./model.ts";

/** The faults of an object's own annotation. */
export function checkObject(
  service: ServiceModel,
  options: ObjectOptions,
  messageOf: (typeName: string) => DescMessage | undefined,
): readonly Fault[] {
  const at = { subject: service.desc, option: optionNumbers.object };
  return [
    ...checkKnown(at, options),
    ...options.variants.flatMap((variant) => checkKnown(at, variant)),
    ...checkNotBelowZero(at, "linger", options.linger),
    ...checkAboveZero(at, "ready_timeout", options.readyTimeout),
    ...checkParams(at, options.params, messageOf),
    ...checkVariants(at, service, options),
  ];
}

function checkParams(
  at: FaultPlace,
  typeName: string,
  messageOf: (typeName: string) => DescMessage | undefined,
): readonly Fault[] {
  if (typeName === "") return [];
  const message = messageOf(typeName);
  if (message === undefined) {
    return [
      {
        ...at,
        what: `names params "${typeName}", which no imported file defines`,
        mend: 'Write the full name of a message with its package, such as "notes.v1.NotebookParams", and import its file.',
      },
    ];
  }
  return unstable(message, message.name, new Set()).map(({ path, why }) => ({
    ...at,
    what: `has params ${typeName}, whose field ${path} is ${why} and so has no stable key`,
    mend: "Take the field out, or name the object by a string, an integer, a bool, an enum, bytes or a message of these.",
  }));
}

interface Unstable {
  /** `NotebookParams.page.price`. */
  readonly path: string;
  readonly why: string;
}

/**
 * The fields, at any depth, that do not print the same for equal values everywhere: programs on two machines
 * must come to the same key for the same object.
 */
function unstable(message: DescMessage, path: string, above: ReadonlySet<DescMessage>): readonly Unstable[] {
  // A message inside itself has been looked at where it stood first.
  if (above.has(message)) return [];
  const inside = new Set([...above, message]);
  return message.fields.flatMap((field): readonly Unstable[] => {
    const at = `${path}.${field.name}`;
    const why = whyUnstable(field);
    if (why !== undefined) return [{ path: at, why }];
    return field.fieldKind === "message" ? unstable(field.message, at, inside) : [];
  });
}

function whyUnstable(field: DescField): string | undefined {
  if (field.fieldKind === "map") return "a map";
  if (field.fieldKind === "list" && field.listKind === "message") return "a repeated message";
  if (field.scalar === ScalarType.FLOAT) return "a float";
  if (field.scalar === ScalarType.DOUBLE) return "a double";
  return field.message?.typeName === AnySchema.typeName ? "a google.protobuf.Any" : undefined;
}

function checkVariants(at: FaultPlace, service: ServiceModel, { variants }: ObjectOptions): readonly Fault[] {
  const faults: Fault[] = [];
  const rpcs = service.desc.methods.map(({ name }) => name);
  const names = new Set<string>();
  for (const { name, members } of variants) {
    if (name === "") {
      faults.push({ ...at, what: "has a variant without a name", mend: "Give every variant a name." });
    } else if (names.has(name)) {
      faults.push({ ...at, what: `has two variants named "${name}"`, mend: "Rename one of the two." });
    }
    names.add(name);
    for (const [index, member] of members.entries()) {
      if (members.indexOf(member) !== index) {
        faults.push({
          ...at,
          what: `has a variant "${name}" that names ${member} twice`,
          mend: "Name every member once.",
        });
      } else if (!rpcs.includes(member)) {
        faults.push({
          ...at,
          what: `has a variant "${name}" with a member "${member}", which is no rpc of the service`,
          mend: `Name rpcs as the schema writes them: ${rpcs.join(", ") || "the service has none"}.`,
        });
      }
    }
  }
  return faults;
}
