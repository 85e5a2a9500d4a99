import { createRegistry, type DescMessage } from "@bufbuild/protobuf";
import {
  DurationSchema,
  StructSchema,
  TimestampSchema,
  Int32ValueSchema,
  ListValueSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { file_codec_v1_kitchen2, OldSchema, RequiredSchema } from "./gen/codec/v1/kitchen2_pb.ts";
import * as kitchen3 from "./gen/codec/v1/kitchen3_pb.ts";
import {
  EditionSchema,
  file_codec_v1_kitchen_editions,
  ImplicitOnlySchema,
} from "./gen/codec/v1/kitchen_editions_pb.ts";

/** Every type that the codecs are tried on. */
export const kitchenTypes: readonly DescMessage[] = [
  kitchen3.KitchenSinkSchema,
  kitchen3.ScalarsSchema,
  kitchen3.OptionalsSchema,
  kitchen3.ListsSchema,
  kitchen3.MapsSchema,
  kitchen3.ChoiceSchema,
  kitchen3.NodeSchema,
  kitchen3.WellKnownSchema,
  kitchen3.WideSchema,
  OldSchema,
  RequiredSchema,
  EditionSchema,
  ImplicitOnlySchema,
  StructSchema,
  ListValueSchema,
  ValueSchema,
];

/** Types for Any in JSON, and the extensions. */
export const kitchenRegistry = createRegistry(
  file_codec_v1_kitchen2,
  file_codec_v1_kitchen_editions,
  kitchen3.file_codec_v1_kitchen3,
  TimestampSchema,
  DurationSchema,
  StructSchema,
  Int32ValueSchema,
);

export const anyTypes: readonly DescMessage[] = [
  kitchen3.NodeSchema,
  kitchen3.ScalarsSchema,
  TimestampSchema,
  Int32ValueSchema,
  StructSchema,
];
