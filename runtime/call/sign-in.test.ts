import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { Random } from "../base/random.ts";
import { virtualClock } from "../testing/virtual-clock.ts";
import { SignIn, SignInGone, type TokenRequest, type TokenSource } from "./sign-in.ts";

const never = new AbortController().signal;
/** Waits are as long as they can be. */
const longest: Random = { bytes: (count) => new Uint8Array(count), fraction: () => 0 };

/** A sign-in whose questions are noted with their instants. */
function asked(source: TokenSource) {
  const clock = virtualClock();
  const questions: (TokenRequest & { readonly at: number })[] = [];
  const signIn = new SignIn(
    (request) => {
      questions.push({ ...request, at: clock.monotonic() });
      return source(request);
    },
    clock,
    longest,
  );
  return { clock, questions, signIn };
}

/** A source that answers when the test says so. */
function answeredLater() {
  const answers: { give: (token: string) => void; fail: (error: Error) => void }[] = [];
  const world = asked(() => new Promise<string>((give, fail) => answers.push({ give, fail })));
  return { ...world, answers };
}

describe("without a source", () => {
  it("there is no token and nobody to ask for another one", async () => {
    const signIn = new SignIn(undefined, virtualClock(), longest);
    expect(signIn.canRefresh).toBe(false);
    expect(await signIn.token(never)).toBeUndefined();
  });
});

describe("the source is asked", () => {
  it("once for all who wait, and its answer is kept", async () => {
    const { clock, questions, signIn, answers } = answeredLater();
    const waiting = Promise.all(Array.from({ length: 100 }, () => signIn.token(never)));
    await clock.settle();
    answers[0]?.give("t");
    expect(new Set(await waiting)).toEqual(new Set(["t"]));
    expect(await signIn.token(never)).toBe("t");
    expect(questions).toEqual([{ rejected: undefined, at: 0 }]);
  });

  it("once where it says that there is no token: that is an answer too", async () => {
    const { questions, signIn } = asked(() => undefined);
    expect([await signIn.token(never), await signIn.token(never)]).toEqual([undefined, undefined]);
    expect(questions).toHaveLength(1);
  });

  it("with the rejected token, once for all whose token was rejected", async () => {
    let count = 0;
    const { questions, signIn } = asked(() => `t${(count += 1)}`);
    expect(await signIn.token(never)).toBe("t1");
    const fresh = await Promise.all(Array.from({ length: 10 }, () => signIn.refresh("t1", never)));
    expect(new Set(fresh)).toEqual(new Set(["t2"]));
    expect(await signIn.refresh("t1", never)).toBe("t2"); // a late one of the old token
    expect(questions.map(({ rejected }) => rejected)).toEqual([undefined, "t1"]);
  });

  it("again after a reconnect", async () => {
    let count = 0;
    const { signIn } = asked(() => `t${(count += 1)}`);
    await signIn.token(never);
    signIn.forget();
    expect(await signIn.token(never)).toBe("t2");
  });
});

describe("a source that fails", () => {
  it("is asked again after 1 s, 2 s, 4 s, up to a minute", async () => {
    const { clock, questions, signIn } = asked(() => {
      throw new Error("down");
    });
    const abort = new AbortController();
    const token = signIn.token(abort.signal);
    token.catch(() => undefined);
    await clock.advance(300_000);
    const instants = questions.map(({ at }) => at);
    expect(instants.map((at, index) => at - (instants[index - 1] ?? 0))).toEqual([
      0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
    abort.abort(new Error("the budget ended"));
    await expect(token).rejects.toThrow("the budget ended");
    expect(clock.pendingCount).toBe(0);
  });

  it.each(["at once", "later"])("%s is asked no more often by many who wait than by one", async (when) => {
    let good = false;
    const { clock, questions, signIn } = asked(async () => {
      if (when === "later") await Promise.resolve();
      if (good) return "t";
      throw new Error("down");
    });
    const waiting = Promise.all(Array.from({ length: 50 }, () => signIn.token(never)));
    await clock.advance(7_500);
    expect(questions.map(({ at }) => at)).toEqual([0, 1_000, 3_000, 7_000]);
    good = true;
    await clock.advance(8_000);
    expect(new Set(await waiting)).toEqual(new Set(["t"]));
    expect(questions.map(({ at }) => at)).toEqual([0, 1_000, 3_000, 7_000, 15_000]);
  });

  it("starts with the short wait again once it has answered", async () => {
    let good = false;
    const { clock, questions, signIn } = asked(() => {
      if (good) return "t";
      throw new Error("down");
    });
    const first = signIn.token(never);
    await clock.advance(3_500);
    good = true;
    await clock.advance(4_000);
    await first;
    signIn.forget();
    good = false;
    questions.length = 0;
    const second = signIn.token(never);
    await clock.advance(1_000);
    expect(questions.map(({ at }) => at)).toEqual([7_500, 8_500]);
    good = true;
    await clock.advance(2_000);
    expect(await second).toBe("t");
  });

  it.each(["forget", "restart"] as const)("is asked at once after %s, also by who waits", async (what) => {
    let good = false;
    const { clock, questions, signIn } = asked(() => {
      if (good) return "t";
      throw new Error("down");
    });
    const token = signIn.token(never);
    await clock.advance(20_000);
    good = true;
    signIn[what]();
    await clock.advance();
    expect(await token).toBe("t");
    expect(questions.at(-1)?.at).toBe(20_000);
    expect(clock.pendingCount).toBe(0);
  });
});

describe("who waits", () => {
  it("leaves with its signal's reason, and the question goes on for the others", async () => {
    const { clock, questions, signIn, answers } = answeredLater();
    const abort = new AbortController();
    const one = signIn.token(abort.signal);
    const other = signIn.token(never);
    await clock.settle();
    abort.abort(new Error("left"));
    await expect(one).rejects.toThrow("left");
    answers[0]?.give("t");
    expect(await other).toBe("t");
    expect(questions).toHaveLength(1);
  });

  it("leaves nothing on its signal", async () => {
    const { signal } = new AbortController();
    const { signIn } = asked(() => "t");
    await signIn.token(signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("learns at once that the sign-in is gone", async () => {
    const { clock, signIn } = asked(() => {
      throw new SignInGone("signed out");
    });
    const ends = await Promise.allSettled([signIn.token(never), signIn.token(never)]);
    for (const end of ends) expect(end).toMatchObject({ reason: { name: "SignInGone" } });
    expect(clock.pendingCount).toBe(0);
  });
});

describe("another person", () => {
  it("is asked for anew, and the old one's late answer goes to nobody", async () => {
    const { clock, questions, signIn, answers } = answeredLater();
    const waits = signIn.token(never);
    await clock.settle();
    signIn.restart();
    const comes = signIn.token(never);
    await clock.settle();
    answers[0]?.give("old");
    await clock.settle();
    answers[1]?.give("new");
    expect(await Promise.all([waits, comes, signIn.token(never)])).toEqual(["new", "new", "new"]);
    expect(questions).toHaveLength(2);
  });

  it("is told nothing of how the old one's question failed", async () => {
    const { clock, questions, signIn, answers } = answeredLater();
    const waits = signIn.token(never);
    await clock.settle();
    signIn.restart();
    const comes = signIn.token(never);
    await clock.settle();
    answers[0]?.fail(new SignInGone("the old one signed out"));
    await clock.settle();
    const joins = signIn.token(never);
    await clock.settle();
    expect(questions.map(({ at }) => at)).toEqual([0, 0]);
    answers[1]?.give("new");
    expect(await Promise.all([waits, comes, joins])).toEqual(["new", "new", "new"]);
  });

  it("is not kept waiting by a question of the old one that nobody answers", async () => {
    const { clock, signIn, answers } = answeredLater();
    const waits = signIn.token(never);
    await clock.settle();
    signIn.restart();
    await clock.settle();
    answers[1]?.give("new");
    expect(await waits).toBe("new");
  });
});
