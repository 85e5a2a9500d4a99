/** Checks what makes a service a held object: its params, its durations, its variants. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { optionNumbers } from "./annotations.ts";
import { checkAboveZero, checkKnown, checkNotBelowZero, type FaultPlace } from "./check-field.ts";
import type { Fault } from "./fault.ts";
import type { ObjectModel } from "./model.ts";

/** The faults of an object's own annotation. */
export function checkObject(object: ObjectModel): readonly Fault[] {
  const at = { subject: object.desc, option: optionNumbers.object };
  const { options } = object;
  return [
    ...checkKnown(at, options),
    ...options.variants.flatMap((variant) => checkKnown(at, variant)),
    ...checkNotBelowZero(at, "linger", options.linger),
    ...checkAboveZero(at, "ready_timeout", options.readyTimeout),
    ...checkParams(at, object),
    ...checkVariants(at, object),
  ];
}

function checkParams(at: FaultPlace, { options, params }: ObjectModel): readonly Fault[] {
  const typeName = options.params;
  if (params === undefined) {
    return [
      {
        ...at,
        what: `names params "${typeName}", which no imported file defines`,
        mend: 'Write the full name of a message with its package, such as "notes.v1.NotebookParams", and import its file.',
      },
    ];
  }
  return unstable(params, params.name, new Set()).map(({ path, why }) => ({
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

/** What a type's name can be made of. */
const variantName = /^[A-Za-z][A-Za-z0-9_-]*$/;

function checkVariants(at: FaultPlace, { desc, options: { variants } }: ObjectModel): readonly Fault[] {
  const faults: Fault[] = [];
  const rpcs = desc.methods.map(({ name }) => name);
  const names = new Set<string>();
  for (const { name, members } of variants) {
    if (name === "") {
      faults.push({ ...at, what: "has a variant without a name", mend: "Give every variant a name." });
    } else if (!variantName.test(name)) {
      faults.push({
        ...at,
        what: `has a variant named "${name}", of which no type's name can be made`,
        mend: "Name it by letters, digits, - and _, beginning with a letter.",
      });
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
