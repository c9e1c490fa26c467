/**
 * Preferences that are kept in this browser, not in links. Storage may be blocked: then they last as long as
 * the page.
 */

/** @type {Map<string, string>} */
const memory = new Map();

/** @param {string} key @returns {string|null} */
export function readPref(key) {
  try {
    return memory.get(key) ?? localStorage.getItem(`xla_insights.${key}`);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function writePref(key, value) {
  memory.set(key, value);
  try {
    localStorage.setItem(`xla_insights.${key}`, value);
  } catch {
    // Blocked or full: memory has it.
  }
}
