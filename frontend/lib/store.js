/** A plain state with change notices: `set` compares by identity and tells listeners which keys changed. */

/**
 * @template {object} T
 * @param {T} initial
 */
export function createStore(initial) {
  /** @type {Set<(changed: Set<keyof T>) => void>} */
  const listeners = new Set();
  const state = { ...initial };
  return {
    /** @type {Readonly<T>} */
    state,
    /** @param {Partial<T>} patch */
    set(patch) {
      const changed = /** @type {Set<keyof T>} */ (new Set(
        /** @type {(keyof T)[]} */ (Object.keys(patch)).filter((key) => state[key] !== patch[key])));
      if (!changed.size) return;
      Object.assign(state, patch);
      listeners.forEach((listener) => listener(changed));
    },
    /** @param {(changed: Set<keyof T>) => void} listener */
    on(listener) { listeners.add(listener); },
  };
}
