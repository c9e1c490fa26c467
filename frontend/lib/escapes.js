/** Escapes for characters that are invisible or change the direction of text. */

const HIDDEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;

/**
 * The text with escapes (`\\u202e`) in the place of control characters, marks of direction and what else nobody sees: a
 * name out of a capture neither hides nor turns round what stands beside it.
 * @param {string} text
 */
export const escapeInvisible = (text) => text.replace(HIDDEN, (character) => {
  const code = /** @type {number} */ (character.codePointAt(0));
  return code < 256
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : code < 65536
      ? `\\u${code.toString(16).padStart(4, '0')}`
      : `\\U${code.toString(16).padStart(8, '0')}`;
});
