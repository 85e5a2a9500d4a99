import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Fields } from "./presence.ts";

// Making the empty message is a good part of reading one. Adding its members one by one makes the engine
// look for the next hidden class at each; a spread copies a finished object at once, but only as long as the
// place in the code where it stands sees few different classes (V8 remembers four). So there are many such
// places, and each serves few message types. What does not get one is made member by member.

type Copy = (template: Fields) => Fields;

// biome-ignore format: twenty-four equal lines say no more than four
const copies: readonly Copy[] = [
  (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }),
  (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }),
  (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }),
  (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }), (t) => ({ ...t }),
];

const typesPerCopy = 3;
let typeCount = 0;

/** Makes the scaffold of a message: its members with their defaults, but lists, maps and oneofs still shared. */
export type MakeBlank = () => Fields;

/** True if messages of this type keep their defaults on a prototype of their own (proto2 and some editions). */
export function hasOwnPrototype(desc: DescMessage): boolean {
  return Object.getPrototypeOf(create(desc)) !== Object.prototype;
}

/**
 * For types without a prototype of their own. The caller puts a list, map or oneof of its own into each member
 * that is one, before anybody sees the message.
 */
export function blankMaker(desc: DescMessage): MakeBlank {
  const template = create(desc) as unknown as Fields;
  const copy = copies[Math.floor(typeCount++ / typesPerCopy)];
  if (copy !== undefined) return () => copy(template);
  const entries = Object.entries(template);
  return () => {
    const message: Fields = {};
    for (const [name, value] of entries) message[name] = value;
    return message;
  };
}
