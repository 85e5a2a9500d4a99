// Type-aware rules, all of the strict set; each exception says why.
import { existsSync } from "node:fs";
import tseslint from "typescript-eslint";

const clockRule = "Take it from the injected Clock (runtime/base/clock.ts).";
const randomRule = "Take it from the injected Random (runtime/base/random.ts).";

/** The system's clock, timers, chance and console: everything else gets them passed in. */
const injected = {
  "no-restricted-globals": [
    "error",
    ...["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "performance"].map(
      (name) => ({ name, message: clockRule }),
    ),
    { name: "crypto", message: randomRule },
    { name: "console", message: "Take the injected Log (runtime/base/log.ts)." },
  ],
  "no-restricted-properties": [
    "error",
    { object: "Date", property: "now", message: clockRule },
    { object: "Math", property: "random", message: randomRule },
    { object: "AbortSignal", property: "timeout", message: clockRule },
    { object: "process", property: "hrtime", message: clockRule },
    ...["setTimeout", "setInterval", "setImmediate", "performance", "crypto"].flatMap((property) =>
      ["globalThis", "global", "window", "self"].map((object) => ({
        object,
        property,
        message: property === "crypto" ? randomRule : clockRule,
      })),
    ),
  ],
  "no-restricted-syntax": [
    "error",
    {
      selector: "NewExpression[callee.name='Date'][arguments.length=0]",
      message: clockRule,
    },
  ],
  "no-restricted-imports": [
    "error",
    {
      patterns: [
        { group: ["*.test.ts", "*.test.js", "**/test/**"], message: "Nothing imports a test." },
        { group: ["node:timers*", "timers*", "node:perf_hooks", "perf_hooks"], message: clockRule },
        {
          group: ["node:crypto", "crypto"],
          importNames: ["randomBytes", "randomUUID", "randomInt", "webcrypto"],
          message: randomRule,
        },
      ],
    },
  ],
};

export default tseslint.config(
  {
    ignores: [
      "dist/**",
      "gen/**",
      "**/gen/**",
      "bench/peers/protobufjs-static.*", // made by another generator
      ...(existsSync(new URL("bench/peers/node_modules", import.meta.url)) ? [] : ["bench/peers/*.ts"]), // without their packages no types are known
      "**/node_modules/**",
      "test/**/golden/**",
      "coverage/**",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-param-reassign": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/promise-function-async": "off", // a function that hands on a promise need not make another
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ], // numbers read well as they are
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }], // `() => f()` is how callbacks are written
      "@typescript-eslint/no-invalid-void-type": "off", // `Promise<void> | void` is what handlers return
      "@typescript-eslint/no-unnecessary-type-parameters": "off", // generated code names types that a caller infers
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }], // an abort signal's reason is thrown as it is
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true }], // the same for a reason handed on
      "@typescript-eslint/require-await": "off", // an async function turns a throw into a rejection
      "@typescript-eslint/no-empty-object-type": ["error", { allowInterfaces: "with-single-extends" }], // a kind of its own, with nothing of its own yet
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["runtime/**/*.ts", "server/**/*.ts"],
    ignores: ["**/*.test.ts", "runtime/base/clock.ts", "runtime/base/random.ts", "runtime/base/log.ts"],
    rules: injected,
  },
  {
    files: ["**/*.test.ts", "test/**/*.ts"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off", // a test that misses a value fails, which is its job
      "@typescript-eslint/no-unsafe-assignment": "off", // matchers are typed any
      "@typescript-eslint/unbound-method": "off", // mocks are passed about
      "no-param-reassign": "off",
    },
  },
);
