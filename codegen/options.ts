/**
 * The plugin's options, looked at before protoplugin reads them: it says that a value is wrong, and not which
 * ones are right, and takes a stray space for a part of the name.
 */

const flag = ["true", "false", "1", "0"];

/** What each option takes: one of the values, several joined by `+`, or a text of some form. */
const options: Readonly<Record<string, OptionRule>> = {
  target: { values: ["ts", "js", "dts"], joined: true },
  import_extension: { values: ["none", "js", "ts", "", ".js", ".ts"], shown: ["none", "js", "ts"] },
  js_import_style: { values: ["module", "legacy_commonjs"] },
  keep_empty_files: { values: flag },
  ts_nocheck: { values: flag },
  elide_plugin_version: { values: flag },
  bootstrap_wkt: { values: flag },
  map_imports: { form: "<pattern>:<target>" },
  rewrite_imports: { form: "<pattern>:<target>" },
  // protoc-gen-es has these; they are taken and mean nothing here, so that both can share one list.
  json_types: "ignored",
  valid_types: "ignored",
  erasable_syntax: "ignored",
};

/** Every option, in the order in which messages list them. */
export const optionNames: readonly string[] = Object.keys(options);

type OptionRule =
  | "ignored"
  | { readonly form: string }
  | { readonly values: readonly string[]; readonly joined?: true; readonly shown?: readonly string[] };

/**
 * Refuses options that are not known or not well formed.
 *
 * @param parameter - `target=ts,import_extension=js`, as the compiler hands it over.
 * @throws Error that names each bad option and what is allowed.
 */
export function checkOptions(parameter: string): void {
  if (parameter === "") return;
  const faults = parameter.split(",").flatMap((option) => {
    const fault = optionFault(option);
    return fault === undefined ? [] : [`option "${option}": ${fault}`];
  });
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

function optionFault(option: string): string | undefined {
  const end = option.indexOf("=");
  const name = end < 0 ? option : option.slice(0, end);
  const value = end < 0 ? "" : option.slice(end + 1);
  if (/\s/.test(option)) {
    return "there is a space in it. Options are joined by commas alone: target=ts,import_extension=js";
  }
  const rule = Object.hasOwn(options, name) ? options[name] : undefined;
  if (rule === undefined) return `there is no such option. The options are ${optionNames.join(", ")}`;
  if (rule === "ignored") return undefined;
  if ("form" in rule) return /^.+:.+$/.test(value) ? undefined : `${name} has the form ${name}=${rule.form}`;
  const given = rule.joined === true ? value.split("+") : [value];
  if (given.every((one) => rule.values.includes(one))) return undefined;
  const allowed = (rule.shown ?? rule.values).join(", ");
  return rule.joined === true
    ? `${name} takes ${allowed}, several joined by "+"`
    : `${name} takes one of ${allowed}`;
}

/**
 * What protoplugin leaves over: the ignored options, and any that its version is too old for.
 *
 * @throws Error for those.
 */
export function refuseLeftOver(left: readonly { readonly key: string }[]): object {
  for (const { key } of left) {
    if (options[key] !== "ignored") throw new Error(`${key} needs @bufbuild/protoplugin 2.15 or newer`);
  }
  return {};
}
