/** Filters of a list in the link state. */

/** Filters as a link writes them: `cause:compile,kind:starved`. @param {string|undefined} text @returns {Map<string, string>} */
export function filtersValue(text) {
  return new Map((text ? text.split(',') : []).flatMap((pair) => {
    const at = pair.indexOf(':');
    return at > 0 ? [/** @type {[string, string]} */ ([pair.slice(0, at), decode(pair.slice(at + 1))])] : [];
  }));
}

/** @param {Map<string, string>} filters */
export const filtersText = (filters) => [...filters].filter(([, value]) => value)
  .map(([key, value]) => `${key}:${value.replace(/[,%]/g, encodeURIComponent)}`).join(',');

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
