/** Changes of random kinds to random places of a draft, led by the schema. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Chance } from "../codec/chance.ts";
import { anyTypes, kitchenRegistry } from "../codec/kitchen.ts";
import { randomMessage } from "../codec/random-message.ts";

type Fields = Record<string, unknown>;

function fresh(desc: DescMessage, chance: Chance): Fields {
  return randomMessage(desc, chance, { anyTypes, registry: kitchenRegistry, depth: 2 });
}

/** Changes some fields of the draft. */
export function randomUpdate(desc: DescMessage, draft: Fields, chance: Chance): void {
  const other = fresh(desc, chance);
  for (const member of desc.members) {
    if (chance.below(4) !== 0) continue;
    if (member.kind === "oneof") {
      const chosen = draft[member.localName] as { case?: string; value?: unknown };
      const field = member.fields.find(({ localName }) => localName === chosen.case);
      if (field !== undefined && chance.below(2) === 0) chosen.value = changed(field, chosen.value, chance);
      else draft[member.localName] = other[member.localName];
      continue;
    }
    const { localName } = member;
    const was = Object.hasOwn(draft, localName) ? draft[localName] : undefined;
    if (member.fieldKind === "list")
      changeList(member, draft[localName] as unknown[], other[localName], chance);
    else if (member.fieldKind === "map")
      changeMap(member, draft[localName] as Fields, other[localName], chance);
    else if (was !== undefined && chance.below(2) === 0) draft[localName] = changed(member, was, chance);
    else if (Object.hasOwn(other, localName)) draft[localName] = other[localName];
    else Reflect.deleteProperty(draft, localName);
  }
}

/** A value that grew out of the old one, where there is such a thing. */
function changed(field: DescField, was: unknown, chance: Chance): unknown {
  if (typeof was === "string" && field.scalar === ScalarType.STRING)
    return `${was} and more ${chance.below(10)}`;
  changeMessage(field, was, chance);
  return was;
}

/** Changes a message in place; nothing else has a place to change. */
function changeMessage(field: DescField, value: unknown, chance: Chance): void {
  const { message } = field;
  if (message === undefined || message.typeName.startsWith("google.protobuf.")) return;
  if (typeof value === "object" && value !== null) randomUpdate(message, value as Fields, chance);
}

function changeList(field: DescField, list: unknown[], others: unknown, chance: Chance): void {
  const place = chance.below(list.length + 1);
  switch (chance.below(5)) {
    case 0:
      list.push(...(others as unknown[]));
      return;
    case 1:
      list.splice(place, chance.below(3), ...(others as unknown[]).slice(0, 2));
      return;
    case 2:
      list.splice(place, 0, ...list.splice(chance.below(list.length + 1), 1));
      return;
    case 3:
      list.reverse();
      return;
    default: {
      const element = list[place];
      changeMessage(field, element, chance);
    }
  }
}

function changeMap(field: DescField, map: Fields, others: unknown, chance: Chance): void {
  for (const key of Object.keys(map)) {
    const kind = chance.below(4);
    if (kind === 0) Reflect.deleteProperty(map, key);
    if (kind === 1) changeMessage(field, map[key], chance);
  }
  for (const [key, value] of Object.entries(others as Fields)) {
    // A draft takes no assignment to this name when it is not there.
    if (key !== "__proto__" || Object.hasOwn(map, key)) map[key] = value;
  }
}
