/** The tones of annotations: eight hues, by the annotation's name, so that a name has the same one in every view. */

const TONES = 8;

/** @param {string} name */
const hash = (name) => [...name].reduce((sum, letter) => (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0, 7);

/**
 * The tones of annotations, by name, from 0. Those below one annotation differ, as far as there are tones.
 * @param {Record<string, string[]>} annotations the names below each annotation, the longest first
 * @returns {Map<string, number>}
 */
export function annotationTones(annotations) {
  /** @type {Map<string, number>} */
  const tones = new Map();
  for (const names of Object.values(annotations)) {
    const used = new Set(names.map((name) => tones.get(name)));
    used.delete(undefined);
    for (const name of names.filter((candidate) => !tones.has(candidate))) {
      let tone = hash(name) % TONES;
      while (used.size < TONES && used.has(tone)) tone = (tone + 1) % TONES;
      used.add(tone);
      tones.set(name, tone);
    }
  }
  return tones;
}

/** The name of a tone's colour in the style sheet. @param {number} tone */
export const toneColor = (tone) => `a${tone + 1}`;
