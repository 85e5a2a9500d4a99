/**
 * Turns of the event loop, for what must not happen inside the one who asks: a call into a program's code from
 * inside its own, a delivery from inside a send.
 */

// Taken when the file loads: a test that fakes the system's timers later does not stop what is delivered by it.
// eslint-disable-next-line no-restricted-properties -- no time is read or waited for, only the turn ends
const immediate: ((fn: () => void) => unknown) | undefined = globalThis.setImmediate;

/** Calls `fn` in a turn of its own, after this one and in the order of the calls. */
export function nextTurn(fn: () => void): void {
  if (immediate !== undefined) {
    immediate(fn);
    return;
  }
  // Browsers have no setImmediate, and their timers wait for 4 ms; a channel's message waits for nothing.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    fn();
  };
  port2.postMessage(undefined);
}
