/** Counts pending requests and animation frames. Tests wait for `idle()`. */

let pending = 0;
/** @type {(() => void)[]} */
let waiting = [];
/** @type {Set<(busy: boolean) => void>} */
const listeners = new Set();

/** Registers an activity. @returns {() => void} the function that ends it */
export function beginActivity() {
  pending += 1;
  if (pending === 1) listeners.forEach((listener) => listener(true));
  let hasEnded = false;
  return () => {
    if (hasEnded) return;
    hasEnded = true;
    pending -= 1;
    if (pending === 0) setTimeout(settle, 0);
  };
}

function settle() {
  if (pending > 0) return;
  listeners.forEach((listener) => listener(false));
  const ready = waiting;
  waiting = [];
  ready.forEach((resolve) => resolve());
}

/** Resolves after one turn of the event loop without pending activities. @returns {Promise<void>} */
export function idle() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (pending === 0) setTimeout(settle, 0);
  });
}

/** @param {number} ms */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {(busy: boolean) => void} listener */
export function onActivity(listener) {
  listeners.add(listener);
}

/** Returns a function that schedules `draw` for the next animation frame, once. @param {() => void} draw */
export function oncePerFrame(draw) {
  /** @type {(() => void)|null} */
  let endActivity = null;
  return () => {
    if (endActivity) return;
    endActivity = beginActivity();
    requestAnimationFrame(() => {
      const endThisActivity = endActivity;
      endActivity = null;
      try {
        draw();
      } finally {
        endThisActivity?.();
      }
    });
  };
}
