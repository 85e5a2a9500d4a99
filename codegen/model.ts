/**
 * What will be generated: every service and method with its names, and its kind with all defaults resolved to
 * numbers. The model is built whole, checked whole, and only then printed.
 */
import type { DescFile, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { EmptySchema, MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import {
  CommandOptions_Delivery as Delivery,
  CommandOptions_Effects as Effects,
  CommandOptions_Keep as Keep,
  type CommandOptions,
  type DefaultsOptions,
  type ObjectOptions,
  Outbox,
} from "../gen/holdfast/v1/annotations_pb.ts";
import { type Annotation, annotationsOf, defaultsOf, durationMsOr, objectOf } from "./annotations.ts";
import * as defaults from "./defaults.ts";
import { type FileNames, fileNames, methodName, type ObjectNames, type ServiceNames } from "./names.ts";

/** A method's kind, resolved. Where a duration is undefined the runtime's own default holds. */
export type Kind =
  | { readonly kind: "query"; readonly budgetMs: number | undefined }
  | CommandKind
  | { readonly kind: "signal"; readonly budgetMs: number | undefined }
  | {
      readonly kind: "stream";
      readonly keepCount: number;
      readonly roomCount: number;
      readonly idleMs: number;
    }
  | { readonly kind: "heartbeat"; readonly everyMs: number; readonly goneAfterMs: number }
  | { readonly kind: "state" }
  | { readonly kind: "plain" };

/** Where the effects and the reply of a command go, and how hard it is tried. */
export interface CommandKind {
  readonly kind: "command";
  readonly budgetMs: number | undefined;
  readonly delivery: "once" | "atMostOnce";
  /** False for a method without an annotation. */
  readonly callId: boolean;
  readonly outbox: "none" | "late" | "early";
  readonly merge: boolean;
  readonly effects: "transaction" | "external";
  readonly keep: "reply" | "marker";
  readonly handlerMostMs: number | undefined;
  readonly requireId: boolean;
}

export interface MethodModel {
  readonly desc: DescMethod;
  /** The member's name in TypeScript. */
  readonly name: string;
  /** All that stand on the method; the first is the one that counts. */
  readonly annotations: readonly Annotation[];
  readonly kind: Kind;
}

/** A service that is called. */
export interface ServiceModel {
  readonly kind: "service";
  readonly desc: DescService;
  readonly names: ServiceNames;
  readonly methods: readonly MethodModel[];
}

/** A service that is held. */
export interface ObjectModel {
  readonly kind: "object";
  readonly desc: DescService;
  readonly names: ObjectNames;
  readonly methods: readonly MethodModel[];
  readonly options: ObjectOptions;
  /** What names one object; undefined: no file defines it, which is a fault. */
  readonly params: DescMessage | undefined;
  readonly lingerMs: number;
  readonly readyTimeoutMs: number;
  /** At least one; where the schema declares none, one named "" with all members. */
  readonly variants: readonly VariantModel[];
}

/** What a holder of one kind has. */
export interface VariantModel {
  readonly name: string;
  /** In the order of the service. */
  readonly members: readonly MethodModel[];
}

export interface FileModel {
  readonly desc: DescFile;
  readonly defaults: DefaultsOptions | undefined;
  readonly services: readonly (ServiceModel | ObjectModel)[];
}

/** Finds a message by its full name among all files that the generator got. */
export type MessageOf = (typeName: string) => DescMessage | undefined;

/** The model of one file. */
export function fileModel(desc: DescFile, messageOf: MessageOf): FileModel {
  const names = fileNames(desc);
  const fileDefaults = defaultsOf(desc);
  const services = desc.services.map((service): ServiceModel | ObjectModel => {
    const methods = service.methods.map((method): MethodModel => {
      const annotations = annotationsOf(method);
      return {
        desc: method,
        name: methodName(method),
        annotations,
        kind: resolve(method, annotations[0], fileDefaults),
      };
    });
    const options = objectOf(service);
    return options === undefined
      ? { kind: "service", desc: service, names: names.service(service), methods }
      : objectModel(service, names, methods, options, messageOf);
  });
  return { desc, defaults: fileDefaults, services };
}

function objectModel(
  desc: DescService,
  names: FileNames,
  methods: readonly MethodModel[],
  options: ObjectOptions,
  messageOf: MessageOf,
): ObjectModel {
  const { variants } = options;
  return {
    kind: "object",
    desc,
    names: names.object(
      desc,
      variants.map(({ name }) => name),
    ),
    methods,
    options,
    // Empty may be in no file that the generator got; its descriptor is the same everywhere.
    params: options.params === "" ? EmptySchema : messageOf(options.params),
    lingerMs: durationMsOr(options.linger, defaults.lingerMs),
    readyTimeoutMs: durationMsOr(options.readyTimeout, defaults.readyTimeoutMs),
    variants:
      variants.length === 0
        ? [{ name: "", members: methods }]
        : variants.map(({ name, members }) => ({
            name,
            members:
              members.length === 0
                ? methods
                : methods.filter(({ desc: method }) => members.includes(method.name)),
          })),
  };
}

function resolve(
  method: DescMethod,
  annotation: Annotation | undefined,
  file: DefaultsOptions | undefined,
): Kind {
  switch (annotation?.kind) {
    case undefined:
      return method.methodKind === "unary" ? plainUnary(method, file) : { kind: "plain" };
    case "query":
      return { kind: "query", budgetMs: budgetMs(annotation.options.budget, file?.queryBudget) };
    case "command":
      return command(annotation.options, file);
    case "signal":
      return { kind: "signal", budgetMs: budgetMs(annotation.options.budget, file?.signalBudget) };
    case "stream":
      return {
        kind: "stream",
        keepCount: annotation.options.keep || defaults.keepCount,
        roomCount: annotation.options.room || defaults.roomCount,
        idleMs: durationMsOr(annotation.options.idle, defaults.idleMs),
      };
    case "heartbeat":
      return {
        kind: "heartbeat",
        everyMs: durationMsOr(annotation.options.every, defaults.everyMs),
        goneAfterMs: durationMsOr(annotation.options.goneAfter, defaults.goneAfterMs),
      };
    case "state":
      return { kind: "state" };
  }
}

/** A unary method without an annotation is what its standard `idempotency_level` says. */
function plainUnary(method: DescMethod, file: DefaultsOptions | undefined): Kind {
  switch (method.idempotency) {
    case Idempotency.NO_SIDE_EFFECTS:
      return { kind: "query", budgetMs: budgetMs(file?.queryBudget) };
    case Idempotency.IDEMPOTENT:
      return { kind: "signal", budgetMs: budgetMs(file?.signalBudget) };
    case Idempotency.IDEMPOTENCY_UNKNOWN:
      return {
        kind: "command",
        budgetMs: budgetMs(file?.commandBudget),
        delivery: "atMostOnce",
        callId: false,
        outbox: "none",
        merge: false,
        effects: "transaction",
        keep: "reply",
        handlerMostMs: undefined,
        requireId: false,
      };
  }
}

function outboxMode(outbox: Outbox): CommandKind["outbox"] {
  if (outbox === Outbox.LATE) return "late";
  return outbox === Outbox.EARLY ? "early" : "none";
}

function command(options: CommandOptions, file: DefaultsOptions | undefined): CommandKind {
  const atMostOnce = options.delivery === Delivery.AT_MOST_ONCE;
  // The file's outbox is for commands that can have one; naming it on one that cannot is a fault.
  const outbox = options.outbox ?? (atMostOnce ? undefined : file?.outbox) ?? Outbox.NONE;
  return {
    kind: "command",
    budgetMs: budgetMs(options.budget, file?.commandBudget),
    delivery: atMostOnce ? "atMostOnce" : "once",
    callId: true,
    outbox: outboxMode(outbox),
    merge: options.merge,
    effects: options.effects === Effects.EXTERNAL ? "external" : "transaction",
    keep: options.keep === Keep.MARKER ? "marker" : "reply",
    handlerMostMs: durationMsOr(options.handlerMost, undefined),
    requireId: options.requireId,
  };
}

/** The first that is there, in ms. */
function budgetMs(...durations: readonly (CommandOptions["budget"] | undefined)[]): number | undefined {
  return durationMsOr(
    durations.find((duration) => duration !== undefined),
    undefined,
  );
}
