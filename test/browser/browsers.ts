/** The browsers of this machine, started without a window on a profile of the test's own. */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Browser {
  readonly name: "chromium" | "firefox";
  readonly path: string;
}

const programs: Readonly<Record<Browser["name"], readonly string[]>> = {
  chromium: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
  firefox: ["firefox", "firefox-esr"],
};

/** Those that are found on the PATH; none on many machines. */
export function installedBrowsers(): readonly Browser[] {
  return (["chromium", "firefox"] as const).flatMap((name) => {
    const path = programs[name].map(onPath).find((found) => found !== undefined);
    return path === undefined ? [] : [{ name, path }];
  });
}

function onPath(program: string): string | undefined {
  const places = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** A browser that runs. All its processes are one group, so that they can be stopped and killed at once. */
export interface RunningBrowser {
  /** SIGSTOP, as a laptop's lid that is shut: nothing in it runs, and its clocks go on. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL, as a crash. Resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * Opens a page.
 *
 * @param profile - the folder of what the browser keeps, made when it is not there.
 */
export function openBrowser({ name, path }: Browser, profile: string, url: string): RunningBrowser {
  mkdirSync(profile, { recursive: true });
  if (name === "firefox") writeFileSync(join(profile, "user.js"), firefoxPreferences);
  const child = spawn(path, argumentsOf[name](profile, url), {
    detached: true,
    stdio: "ignore",
    env: { ...process.env, HOME: profile, MOZ_HEADLESS: "1" },
  });
  const gone = new Promise<void>((resolve, reject) => {
    child.once("exit", () => resolve());
    child.once("error", reject);
  });
  gone.catch(() => undefined); // heard by whoever kills it
  return {
    freeze: () => tell(child, "SIGSTOP"),
    thaw: () => tell(child, "SIGCONT"),
    async kill() {
      tell(child, "SIGKILL");
      await gone;
    },
  };
}

const argumentsOf: Readonly<Record<Browser["name"], (profile: string, url: string) => string[]>> = {
  chromium: (profile, url) => [
    "--headless=new",
    "--no-sandbox", // for who tests as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    `--user-data-dir=${profile}`,
    url,
  ],
  firefox: (profile, url) => ["--headless", "--no-remote", "--profile", profile, url],
};

/** Nothing that looks for the network, and no restored tabs after a kill. */
const firefoxPreferences = `
user_pref("app.update.enabled", false);
user_pref("browser.sessionstore.resume_from_crash", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.startup.firstrunSkipsHomepage", true);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("toolkit.startup.max_resumed_crashes", -1);
user_pref("trailhead.firstrun.didSeeAboutWelcome", true);
`;

function tell({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
