/**
 * What a browser loads: an entry bundled as a web application's bundler does it, and what it weighs. The
 * weight that counts is what holdfast adds to a program that uses Connect's own client already.
 */
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

export const projectRoot = resolve(dirname(fileURLToPath(import.meta.url)), "..");

export interface BrowserBundle {
  readonly code: string;
  readonly minBytes: number;
  readonly gzipBytes: number;
  /** Each file that is in it with its bytes after minifying, the largest first. */
  readonly parts: readonly { readonly path: string; readonly bytes: number }[];
}

export interface BundleOptions {
  /** Where the entry's imports are looked up. Default: the project itself. */
  readonly from?: string;
  /** Conditions of exports maps beside those of browsers. Default: holdfast's sources. */
  readonly conditions?: readonly string[];
}

/**
 * Bundles an entry for browsers, minified.
 *
 * @throws Error for an import that a browser cannot have, such as a module of Node.
 */
export async function bundleForBrowsers(entry: string, options: BundleOptions = {}): Promise<BrowserBundle> {
  const result = await build({
    stdin: { contents: entry, resolveDir: options.from ?? projectRoot, loader: "ts" },
    absWorkingDir: options.from ?? projectRoot,
    conditions: [...(options.conditions ?? ["holdfast-source"])],
    platform: "browser",
    format: "esm",
    target: "es2022",
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const [output] = result.outputFiles;
  const [made] = Object.values(result.metafile.outputs);
  if (output === undefined || made === undefined) throw new Error("esbuild made no output");
  const parts = Object.entries(made.inputs).map(([path, { bytesInOutput }]) => ({
    path,
    bytes: bytesInOutput,
  }));
  return {
    code: output.text,
    minBytes: output.contents.byteLength,
    gzipBytes: gzipSync(output.contents, { level: 9 }).byteLength,
    parts: parts.sort((a, b) => b.bytes - a.bytes),
  };
}

/** What the code of each schema imports: without it a page has no messages, and half of protobuf-es is missing. */
const schemaEntry = `export { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";`;

/** What a program with generated messages has, and JSON and binary of them. */
const protobufEntry = `
  ${schemaEntry}
  export { create, fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
`;

/** The same without JSON. */
const binaryEntry = `
  ${schemaEntry}
  export { create, fromBinary, toBinary } from "@bufbuild/protobuf";
`;

/** What Connect's web client is made of, without its fetch. */
const connectEntry = `
  ${schemaEntry}
  export { createClient } from "@connectrpc/connect";
  export { createTransport } from "@connectrpc/connect/protocol-connect";
`;

/** What a page with a holdfast client loads before its own schemas. */
const callsEntry = `
  ${schemaEntry}
  export { linkOf } from "holdfast";
`;

/** The same where messages travel as JSON. */
const jsonEntry = `
  ${callsEntry}
  export { jsonCodec } from "holdfast/codec";
`;

/** What a page with a holdfast client loads where its schemas have streams and heartbeats. */
const streamsEntry = `
  ${callsEntry}
  export { beating, connectStreaming, resumable } from "holdfast/generated-v1";
`;

/** The same where it holds objects over a wire. */
const holdsEntry = `
  ${streamsEntry}
  export { webSocketWires } from "holdfast/web/wire";
`;

/** What is weighed: bytes after minifying and gzip. */
export interface Sizes {
  /** Protobuf-es alone, without JSON. */
  readonly binaryBytes: number;
  /** Protobuf-es alone. */
  readonly protobufBytes: number;
  /** Connect and protobuf-es alone. */
  readonly connectBytes: number;
  /** The same page with holdfast in place of Connect's client. */
  readonly callsBytes: number;
  /** The same with JSON. */
  readonly jsonBytes: number;
  /** With streams and heartbeats. */
  readonly streamsBytes: number;
  /** With held objects and wires beside. */
  readonly holdsBytes: number;
  /** What a page that calls has more than one with Connect's client: what the budget is about. */
  readonly aboveConnectBytes: number;
  readonly parts: BrowserBundle["parts"];
}

export async function measureSizes(options: BundleOptions = {}): Promise<Sizes> {
  const sizeOf = async (entry: string): Promise<number> =>
    (await bundleForBrowsers(entry, options)).gzipBytes;
  const connect = await bundleForBrowsers(connectEntry, options);
  const calls = await bundleForBrowsers(callsEntry, options);
  return {
    binaryBytes: await sizeOf(binaryEntry),
    jsonBytes: await sizeOf(jsonEntry),
    protobufBytes: await sizeOf(protobufEntry),
    streamsBytes: await sizeOf(streamsEntry),
    holdsBytes: await sizeOf(holdsEntry),
    connectBytes: connect.gzipBytes,
    callsBytes: calls.gzipBytes,
    aboveConnectBytes: calls.gzipBytes - connect.gzipBytes,
    parts: calls.parts,
  };
}
