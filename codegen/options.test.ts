import { describe, expect, test } from "vitest";
import { checkOptions, refuseLeftOver } from "./options.ts";

describe("options", () => {
  test("everything that protoplugin takes, and protoc-gen-es's own", () => {
    const all =
      "target=ts+js+dts,import_extension=js,js_import_style=module,keep_empty_files=true,ts_nocheck=false," +
      "elide_plugin_version=1,map_imports=holdfast/:holdfast/gen,rewrite_imports=./a/*:b," +
      "json_types=true,valid_types=legacy_required+protovalidate_required,erasable_syntax=true";
    expect(() => checkOptions(all)).not.toThrow();
    expect(() => checkOptions("")).not.toThrow();
  });

  const refused: Readonly<Record<string, string>> = {
    "targets=ts":
      "there is no such option. The options are target, import_extension, js_import_style, keep_empty_files, ts_nocheck, elide_plugin_version, bootstrap_wkt, map_imports, rewrite_imports, json_types, valid_types, erasable_syntax",
    "target=typescript": 'target takes ts, js, dts, several joined by "+"',
    "target=ts+jsx": 'target takes ts, js, dts, several joined by "+"',
    target: 'target takes ts, js, dts, several joined by "+"',
    "import_extension=mjs": "import_extension takes one of none, js, ts",
    "keep_empty_files=yes": "keep_empty_files takes one of true, false, 1, 0",
    "map_imports=holdfast": "map_imports has the form map_imports=<pattern>:<target>",
    " import_extension=js":
      "there is a space in it. Options are joined by commas alone: target=ts,import_extension=js",
    "target = ts":
      "there is a space in it. Options are joined by commas alone: target=ts,import_extension=js",
  };
  for (const [option, why] of Object.entries(refused)) {
    test(`"${option}" is refused with what is allowed`, () => {
      expect(() => checkOptions(option)).toThrow(new Error(`option "${option}": ${why}`));
    });
  }

  test("a name of Object's own is no option", () => {
    expect(() => checkOptions("constructor=1")).toThrow(/there is no such option/);
  });

  test("an empty option, as a comma at the end makes it, is refused", () => {
    expect(() => checkOptions("target=ts,")).toThrow(/^option "": there is no such option/);
  });

  test("all bad options are named in one message", () => {
    expect(() => checkOptions("target=x,bogus=1,import_extension=js")).toThrow(
      /^option "target=x": .*\noption "bogus=1": .*$/,
    );
  });

  test("what an old protoplugin does not know is refused and not passed over", () => {
    expect(() => refuseLeftOver([{ key: "erasable_syntax" }, { key: "map_imports" }])).toThrow(
      "map_imports needs @bufbuild/protoplugin 2.15 or newer",
    );
  });
});
