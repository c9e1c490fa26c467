/** The light or dark theme, as in the page around the iframe, and the colours that a canvas draws with. */

import { CLASSES } from './classes.js';

/** @typedef {{fill: string, on: string, edge: string}} Tone */
/**
 * @typedef {object} Palette
 * @property {string} bg colours of the style sheet, `ink3` for `--ink-3`, here and in the next lines
 * @property {string} surface
 * @property {string} surface2
 * @property {string} wash `--accent-wash`
 * @property {string} line
 * @property {string} line2 @property {string} ink @property {string} ink2 @property {string} ink3
 * @property {string} accent @property {string} sel @property {string} veil @property {string} hatch
 * @property {Tone[]} classes in the order of CLASSES
 * @property {Tone[]} annotations eight tones
 * @property {Tone} run @property {Tone} op @property {Tone} collective of devices
 * @property {string} font family
 * @property {number} fontScale the root font size over 16 px
 * @property {boolean} plain forced colours: no hatches
 */

/**
 * The body of the page around the iframe; null without one, or if its origin is another.
 * @returns {HTMLElement|null}
 */
function outerBody() {
  try {
    return window.parent !== window ? window.parent.document.body : null;
  } catch {
    return null;
  }
}

/** Follows the theme of the page around, or of the system. @param {() => void} onChange called after each change */
export function followTheme(onChange) {
  const outer = outerBody();
  const system = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const dark = outer ? outer.classList.contains('dark-mode') : system.matches;
    const theme = dark ? 'dark' : 'light';
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    onChange();
  };
  apply();
  if (outer) {
    const observer = new MutationObserver(apply);
    observer.observe(outer, { attributes: true, attributeFilter: ['class'] });
    addEventListener('pagehide', () => observer.disconnect());
  } else {
    system.addEventListener('change', apply);
  }
  matchMedia('(forced-colors: active)').addEventListener('change', onChange);
}

/** @param {string} color `#rrggbb` or `#rgb` @returns {number[]} */
function channels(color) {
  const hex = color.slice(1);
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex;
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16));
}

/** Mixes two colours. @param {string} from @param {string} to @param {number} share of `to`, 0 to 1 */
export function mix(from, to, share) {
  const [a, b] = [channels(from), channels(to)];
  const mixed = a.map((value, index) => Math.round(value * (1 - share) + b[index] * share));
  return '#' + mixed.map((value) => value.toString(16).padStart(2, '0')).join('');
}

/** Reads the palette from the style sheet. @returns {Palette} */
export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  const hatch = read('hatch');
  const tone = (/** @type {string} */ name, edgeMix = 'edge-mix') => ({
    fill: read(name),
    on: read(`on-${name.replace('c-', '')}`) || read('dark'),
    edge: mix(read(name), read('edge'), parseInt(read(edgeMix)) / 100),
  });
  return {
    bg: read('bg'),
    surface: read('surface'),
    surface2: read('surface-2'),
    wash: read('accent-wash'),
    line: read('line'),
    line2: read('line-2'),
    ink: read('ink'),
    ink2: read('ink-2'),
    ink3: read('ink-3'),
    accent: read('accent'),
    sel: read('sel'),
    veil: read('veil'),
    hatch,
    classes: CLASSES.map((name) => {
      const classTone = tone(`c-${name}`);
      return name === 'wait' || name === 'unrecorded' ? { ...classTone, edge: hatch } : classTone;
    }),
    annotations: [1, 2, 3, 4, 5, 6, 7, 8].map((hue) => tone(`a${hue}`, 'a-edge-mix')),
    run: tone('dev'),
    op: tone('dev-2'),
    collective: tone('dev-coll'),
    font: getComputedStyle(document.body).fontFamily,
    fontScale: parseFloat(style.fontSize) / 16 || 1,
    plain: matchMedia('(forced-colors: active)').matches,
  };
}
