/**
 * Seeds that have found something, with what it was. What a seed draws changes with the code that draws it, so each
 * finding also has a test of its own; these are here because they cost nothing.
 */
export const pinned: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 190, found: "a call is told not to have run whose entry another process has sent" },
  { seed: 319, found: "the same, with an outbox whose disk fails" },
  { seed: 599, found: "a proxy's refusal is taken for the server's, of a command sent at most once" },
  { seed: 1421, found: "an aborted command is told not to have run, and its entry cannot be removed" },
  { seed: 192, found: "who was refused a call became its caller, and a later process sent it as that one's" },
  { seed: 203, found: "a call whose first answer was lost runs again for who signs in next" },
  { seed: 312, found: "a disk waits for ever for a process that wrote in the moment of its death" },
  { seed: 10_032, found: "a call sends its entry as if nobody had sent it before" },
  { seed: 557, found: "a tag of another epoch lets a call run again for who signs in next" },
  { seed: 33, found: "a serial object's next command overtakes one that was given up and goes on" },
  { seed: 370, found: "a wire that ends in the moment in which it opens is the last one" },
  { seed: 611, found: "a call of before its machine slept passes for one of after it, and runs again" },
  { seed: 956, found: "an entry is sent on nobody's behalf while its call writes it" },
  {
    seed: 650,
    found: "a heartbeat's dead connection is never given up, and its session is gone while it lives",
  },
  { seed: 2266, found: "the same, after a sleep" },
  {
    seed: 2748,
    found: "who was told that a command waits hears nothing when a repeat of it gets the outcome",
  },
  { seed: 3507, found: "an outbox waits for another token than the one that has just been given" },
  { seed: 26_496, found: "a LATE command goes in with a refused sign-in, and nobody asks for another token" },
  { seed: 4265, found: "an outbox is paused for good by a token that ran out twice in one sending" },
  {
    seed: 890,
    found: "a repeat that tells its age alone lies at a server, passes for a fresh one, and runs again",
  },
  { seed: 2869, found: "a machine slept, its clock was set back, and a repeat passes for a fresh one" },
  { seed: 2782, found: "an entry that another process has sent and taken out is sent as if nobody had" },
  {
    seed: 3780,
    found: "a late command that is sent at most once begins, although its client has settled it",
  },
  { seed: 5411, found: "what was in store for an open WebSocket happens after everything was healed" },
  { seed: 23_450, found: "a command that is sent at most once is asked for again while it runs" },
  { seed: 13_688, found: "a call goes out by HTTP with the token of a wire that the person before has left" },
  { seed: 30_159, found: "a later process sends an entry as the person who signed in after it was sent" },
  { seed: 35_694, found: "a late command that is sent at most once begins after a kept call has settled it" },
  {
    seed: 201_778,
    found: "a call is told not to have run in the moment in which another process' outcome comes",
  },
  {
    seed: 301_264,
    found: "a later process sends an entry of which no answer had said whose it is, as who signed in since",
  },
  {
    seed: 320_947,
    found: "a late copy of a dead program's request keeps its session alive: a checker's error",
  },
  {
    seed: 321_109,
    found:
      "a kept command ends as unknown when its server's clock was set back by half an hour: a checker's error",
  },
  {
    seed: 702_406,
    found: "a kept command whose age alone is known ends as unknown when a clock was set: a checker's error",
  },
  {
    seed: 711_055,
    found:
      "a last command is stamped before the answer that tells that its server's clock was set: an error of run.ts",
  },
  {
    seed: 320_205,
    found:
      "an entry that another process has sent and taken out comes back when a try of its call has not left",
  },
  {
    seed: 442_509,
    found:
      "a room is asked for anew before the shelf that it needs, which another program holds: an error of run.ts",
  },
  {
    seed: 444_172,
    found: "a command that is made while its program leaves is no kept one: a checker's error",
  },
  {
    seed: 448_045,
    found: "a link that closes leaves the wire open whose end its server has announced, and stands still",
  },
  {
    seed: 447_596,
    found:
      "an entry that its own process has taken out unsent is sent by another one that waited for a server",
  },
  {
    seed: 458_770,
    found: "a refusal on a wire gives another anonymous link's command the tag of the wire's own caller",
  },
  {
    seed: 528_568,
    found:
      "what was sent before another person signed in runs in that one's name, when a later program finds it in the outbox",
  },
  {
    seed: 558_867,
    found:
      "a process that stood still as it wrote that an entry has not left brings back one that another process has sent",
  },
  {
    seed: 603_058,
    found:
      "an older program that sends a newer one's entry of an outbox loses what its own schema does not know",
  },
  {
    seed: 701_012,
    found:
      "a newer program's command is told that its ID is another request's: an older server got its fields over HTTP alone",
  },
  {
    seed: 704_385,
    found: "a link whose build was refused opens no wire for what it holds when it signs in anew",
  },
  {
    seed: 10_040,
    found:
      "a late copy of a request runs after a deploy, which the server of before had no method for: a checker's error",
  },
];
