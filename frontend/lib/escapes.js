/** Escapes for characters that are invisible or change the direction of text. */

const HIDDEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;

/**
 * The text with escapes (`\u202e`) in place of control characters, direction marks and other invisible characters, so
 * that a name from a capture neither hides nor reorders the text beside it.
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
