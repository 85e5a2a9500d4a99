import { defineConfig } from "vitest/config";

/** Unit tests lie beside the file that they test; what crosses folders lies in test/. */
export default defineConfig({
  resolve: { conditions: ["holdfast-source"] },
  ssr: { resolve: { conditions: ["holdfast-source"] } },
  test: {
    include: ["{runtime,server,codegen,examples}/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "dist/**"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A rejection that nobody handles fails the run: it would end a user's process.
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
