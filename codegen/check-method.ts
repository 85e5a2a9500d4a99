/** Checks one method: its kind against its shape, and the fields of its kind. */
import type { DescMethod } from "@bufbuild/protobuf";
import { EmptySchema, MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import {
  CommandOptions_Delivery as Delivery,
  type CommandOptions,
  Outbox,
} from "../gen/holdfast/v1/annotations_pb.ts";
import { type Annotation, optionNumbers } from "./annotations.ts";
import { checkAboveZero, checkKnown, durationText, type FaultPlace } from "./check-field.ts";
import type { Fault } from "./fault.ts";
import type { MethodModel } from "./model.ts";

/** The faults of one method. */
export function checkMethod(method: MethodModel, inObject: boolean): readonly Fault[] {
  const { desc, annotations } = method;
  const [annotation, ...more] = annotations;
  if (annotation === undefined) return inObject ? checkPlainMember(desc) : [];
  if (more.length > 0) {
    const kinds = annotations.map(({ kind }) => kind);
    return [
      {
        subject: desc,
        option: optionNumbers[more[0]?.kind ?? annotation.kind],
        what: `is annotated as ${kinds.slice(0, -1).join(", ")} and ${kinds.at(-1) ?? ""}`,
        mend: "A method has one kind: keep the annotation that is meant.",
      },
    ];
  }
  const at = { subject: desc, option: optionNumbers[annotation.kind] };
  return [
    ...checkShape(at, desc, annotation.kind),
    ...checkPlace(at, annotation.kind, inObject),
    ...checkIdempotency(at, desc, annotation.kind),
    ...checkFields(at, method, annotation),
  ];
}

/** An object's member is called or followed; a bare stream is neither. */
function checkPlainMember(desc: DescMethod): readonly Fault[] {
  if (desc.methodKind === "unary") return [];
  return [
    {
      subject: desc,
      what: "streams without an annotation in a held object",
      mend: "Annotate it with (holdfast.v1.state), or move it to a service of its own.",
    },
  ];
}

const shapeText: Readonly<Record<DescMethod["methodKind"], string>> = {
  unary: "neither streams its reply nor its requests",
  server_streaming: "streams its reply",
  client_streaming: "streams its requests",
  bidi_streaming: "streams its requests and its replies",
};

function checkShape(at: FaultPlace, desc: DescMethod, kind: Annotation["kind"]): readonly Fault[] {
  const streams = kind === "stream" || kind === "state";
  if (desc.methodKind === (streams ? "server_streaming" : "unary")) return [];
  const mend = streams
    ? `A ${kind} takes one request and streams its reply: \`rpc ${desc.name}(${desc.input.name}) returns (stream ${desc.output.name})\`.`
    : `A ${kind} is one request and one reply: take \`stream\` away, or annotate it with (holdfast.v1.stream) if it streams its reply.`;
  return [{ ...at, what: `is a ${kind} but ${shapeText[desc.methodKind]}`, mend }];
}

function checkPlace(at: FaultPlace, kind: Annotation["kind"], inObject: boolean): readonly Fault[] {
  if (kind === "state" && !inObject) {
    return [
      {
        ...at,
        what: "is a state outside a held object",
        mend: "Annotate its service with (holdfast.v1.object), or make it a (holdfast.v1.stream).",
      },
    ];
  }
  if (kind === "stream" && inObject) {
    return [
      {
        ...at,
        what: "is a stream in a held object",
        mend: "Make it a (holdfast.v1.state), which gives the newest value, or move it to a service of its own.",
      },
    ];
  }
  if (kind === "heartbeat" && inObject) {
    return [
      {
        ...at,
        what: "is a heartbeat in a held object",
        mend: "A heartbeat belongs to a session: move it to a service that is no held object.",
      },
    ];
  }
  return [];
}

function checkIdempotency(at: FaultPlace, desc: DescMethod, kind: Annotation["kind"]): readonly Fault[] {
  const readOnly = desc.idempotency === Idempotency.NO_SIDE_EFFECTS;
  if (kind === "query" && !readOnly) {
    return [
      {
        ...at,
        what: "is a query without `option idempotency_level = NO_SIDE_EFFECTS`",
        mend: "Add that option, or make the method a command if it changes something.",
      },
    ];
  }
  if (readOnly && (kind === "command" || kind === "signal" || kind === "heartbeat")) {
    return [
      {
        ...at,
        what: `is a ${kind} with \`option idempotency_level = NO_SIDE_EFFECTS\``,
        mend: "Take that option away, or make the method a query if it changes nothing.",
      },
    ];
  }
  return [];
}

function checkFields(at: FaultPlace, { desc, kind }: MethodModel, annotation: Annotation): readonly Fault[] {
  switch (annotation.kind) {
    case "query":
      return [
        ...checkKnown(at, annotation.options),
        ...checkAboveZero(at, "budget", annotation.options.budget),
      ];
    case "command":
      return checkCommand(at, annotation.options, kind.kind === "command" ? kind.outbox : "none");
    case "signal":
      return [
        ...checkKnown(at, annotation.options),
        ...checkAboveZero(at, "budget", annotation.options.budget),
        ...checkSignalReply(at, desc),
      ];
    case "stream": {
      const { options } = annotation;
      const faults = [...checkKnown(at, options), ...checkAboveZero(at, "idle", options.idle)];
      return kind.kind === "stream" ? [...faults, ...checkRoom(at, kind, options.room === 0)] : faults;
    }
    case "heartbeat": {
      const { options } = annotation;
      const faults = [
        ...checkKnown(at, options),
        ...checkAboveZero(at, "every", options.every),
        ...checkAboveZero(at, "gone_after", options.goneAfter),
      ];
      // The relation says nothing new about durations that are wrong by themselves.
      if (faults.length > 0 || kind.kind !== "heartbeat" || kind.goneAfterMs > kind.everyMs) return faults;
      return [
        {
          ...at,
          what: `has a gone_after of ${durationText(kind.goneAfterMs)}, which is not above its every of ${durationText(kind.everyMs)}`,
          mend: "Make gone_after several times every, so that one lost beat does not end a session.",
        },
      ];
    }
    case "state":
      return [...checkKnown(at, annotation.options), ...checkStateRequest(at, desc)];
  }
}

function checkCommand(at: FaultPlace, options: CommandOptions, outbox: string): readonly Fault[] {
  const { delivery, effects, keep } = options;
  const faults = [
    ...checkKnown(at, options, { delivery, effects, keep, outbox: options.outbox }),
    ...checkAboveZero(at, "budget", options.budget),
    ...checkAboveZero(at, "handler_most", options.handlerMost),
  ];
  if (delivery === Delivery.AT_MOST_ONCE && outbox !== "none") {
    faults.push({
      ...at,
      what: `has \`outbox: ${outbox.toUpperCase()}\` with \`delivery: AT_MOST_ONCE\`: an outbox sends again, which this delivery forbids`,
      mend: "Take one of the two away.",
    });
  }
  if (options.merge && outbox === "none") {
    faults.push({
      ...at,
      what: "has `merge: true` without an outbox, in which alone commands wait to be merged",
      mend:
        options.outbox === Outbox.NONE
          ? "Make its outbox LATE or EARLY, or take `merge` away."
          : "Add `outbox: LATE` or `outbox: EARLY`, or take `merge` away.",
    });
  }
  return faults;
}

function checkSignalReply(at: FaultPlace, desc: DescMethod): readonly Fault[] {
  if (desc.output.typeName === EmptySchema.typeName) return [];
  return [
    {
      ...at,
      what: `is a signal that replies ${desc.output.typeName}`,
      mend: "Let it return google.protobuf.Empty, or make it a command if the reply matters.",
    },
  ];
}

function checkStateRequest(at: FaultPlace, desc: DescMethod): readonly Fault[] {
  if (desc.input.typeName === EmptySchema.typeName) return [];
  return [
    {
      ...at,
      what: `is a state that takes ${desc.input.typeName}`,
      mend: "Let it take google.protobuf.Empty: the object's params say which object it is.",
    },
  ];
}

function checkRoom(
  at: FaultPlace,
  { keepCount, roomCount }: { readonly keepCount: number; readonly roomCount: number },
  roomIsDefault: boolean,
): readonly Fault[] {
  const roomMost = Math.floor(keepCount / 2);
  if (roomCount <= roomMost) return [];
  const room = roomIsDefault ? `${roomCount} (the default)` : `${roomCount}`;
  return [
    {
      ...at,
      what: `has a room of ${room}, above half of its keep of ${keepCount}`,
      mend:
        roomMost === 0
          ? "Make keep 2 or more and room at most half of it, so that a reader that lags can catch up."
          : `Make room ${roomMost} or less, or keep ${2 * roomCount} or more, so that a reader that lags can catch up.`,
    },
  ];
}
