/**
 * The TypeScript names of what is generated.
 *
 * Proto names have no `$`, so a name that cannot stay as it is gets one at its end, as protoc-gen-es does it,
 * and can then collide with nothing but another such name.
 */
import type { DescFile, DescMethod, DescService } from "@bufbuild/protobuf";
import { safeIdentifier } from "@bufbuild/protoplugin";

/** The names that every service brings into its generated file. */
export interface DefinitionNames {
  /** The definition: `Board`. */
  readonly definition: string;
  /** The definition's type: `BoardDefinition`. */
  readonly definitionType: string;
  /** The type of the definition's methods: `BoardMethods`. */
  readonly methodsType: string;
  /** The methods themselves, which the file keeps to itself: `boardMethods`. */
  readonly methods: string;
}

/** The names of a service that is called. */
export interface ServiceNames extends DefinitionNames {
  /** The client's type: `BoardClient`. */
  readonly client: string;
  /** What makes a client: `boardClient`. */
  readonly factory: string;
  /** The server's side: `BoardHandlers`. */
  readonly handlers: string;
}

/** The names of a service that is held. */
export interface ObjectNames extends DefinitionNames {
  /** What a holder gets: `NotebookReference`. */
  readonly reference: string;
  /** What a factory returns: `NotebookObject`. */
  readonly implementation: string;
  /** All members as a holder sees them, from which variants take theirs: `NotebookMembers`. */
  readonly members: string;
  /** What a holder of each variant gets, in the schema's order: `NotebookReaderReference`. */
  readonly variantReferences: readonly string[];
  /** These by the variant's name: `NotebookVariants`. */
  readonly variants: string;
}

/**
 * Members that would break an object: a client with `then` is awaited by whoever awaits it, and the others
 * are what every object has. (`constructor`, `toString`, `toJSON` and `valueOf` already end in `$` in a
 * descriptor's `localName`.)
 */
const unsafeMembers: ReadonlySet<string> = new Set([
  "then",
  "prototype",
  "hasOwnProperty",
  "isPrototypeOf",
  "propertyIsEnumerable",
  "toLocaleString",
  "__proto__",
  "__defineGetter__",
  "__defineSetter__",
  "__lookupGetter__",
  "__lookupSetter__",
]);

/** What a reference to a held object has beside the members of the schema and what begins with `$`. */
export const referenceNames: ReadonlySet<string> = new Set(["variant"]);

/** Names that the printed code itself uses. */
export const usedTypes = ["Promise", "AsyncIterable", "Pick"] as const;
const usedParameters = ["link", "request", "requests", "options", "context"];
/** A module that exports `then` is a promise to whoever imports it with `await import()`. */
const unsafeExports = ["then"];

/** The member that an rpc becomes: `GetThing` is `getThing`, `Delete` is `delete`, `Then` is `then$`. */
export function methodName(method: DescMethod): string {
  return unsafeMembers.has(method.localName) ? `${method.localName}$` : method.localName;
}

/** The same where an interface declares it as a method: a bare `new(...)` there is a constructor. */
export function methodSignatureName(name: string): string {
  return name === "new" ? '"new"' : name;
}

/** What gives the names of a file's services. */
export interface FileNames {
  service(service: DescService): ServiceNames;
  object(service: DescService, variants: readonly string[]): ObjectNames;
}

/** The names of a file, no two of them the same; ask for each service once. */
export function fileNames(file: DescFile): FileNames {
  const taken = new Set<string>([...usedTypes, ...usedParameters, ...unsafeExports]);
  // The definitions come first: they are the names that people know from the schema.
  const definitions = new Map(
    file.services.map((service) => [service, take(taken, safeIdentifier(shortName(service)))] as const),
  );
  const free = (name: string): string => take(taken, name);
  return {
    service(service) {
      const { upper, lower } = stems(service);
      return {
        definition: definitions.get(service) ?? free(upper),
        client: free(`${upper}Client`),
        factory: free(`${lower}Client`),
        handlers: free(`${upper}Handlers`),
        methodsType: free(`${upper}Methods`),
        definitionType: free(`${upper}Definition`),
        methods: free(`${lower}Methods`),
      };
    },
    object(service, variants) {
      const { upper, lower } = stems(service);
      return {
        definition: definitions.get(service) ?? free(upper),
        reference: free(`${upper}Reference`),
        implementation: free(`${upper}Object`),
        members: free(`${upper}Members`),
        variantReferences: variants.map((variant) => free(`${upper}${pascal(variant)}Reference`)),
        variants: free(`${upper}Variants`),
        methodsType: free(`${upper}Methods`),
        definitionType: free(`${upper}Definition`),
        methods: free(`${lower}Methods`),
      };
    },
  };
}

/** What the names of a service begin with. */
function stems(service: DescService): { readonly upper: string; readonly lower: string } {
  const short = shortName(service);
  return {
    upper: short.charAt(0).toUpperCase() + short.slice(1),
    lower: short.charAt(0).toLowerCase() + short.slice(1),
  };
}

/** `read-only` is `ReadOnly`. */
function pascal(name: string): string {
  return name
    .split(/[-_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

/**
 * A service's name without the `Service` that lint rules want at its end, unless nothing would remain or
 * another service of the file has that name.
 */
function shortName(service: DescService): string {
  const short = service.name.replace(/Service$/, "");
  const free = !service.file.services.some((other) => other !== service && other.name === short);
  return short !== "" && free ? short : service.name;
}

/** The wanted name, or the first of `name$`, `name$1`, `name$2`, ... that is free; taken from now on. */
function take(taken: Set<string>, wanted: string): string {
  let name = wanted;
  for (let count = 0; taken.has(name); count++) name = `${wanted}$${count === 0 ? "" : count}`;
  taken.add(name);
  return name;
}
