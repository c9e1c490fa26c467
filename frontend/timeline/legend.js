/** The legend: chips of the session's classes and annotations, which filter what the lanes show. */

import { h, fill, button } from '../lib/dom.js';
import { annotationTones, toneColor } from '../lib/annotation-tones.js';
import { LABELS, chip, classChip } from '../lib/classes.js';
import { listItems, listText } from '../lib/link.js';

/**
 * What the legend filters, by keys: a class, or an annotation after a slash. The others are faded beside `only`.
 * @typedef {{only: string, hidden: Set<string>}} Filter
 */

/** How much of its colour a faded slice keeps. */
export const FADED = 0.25;

/** A filter as a link writes it: `tracing,-wait`. @param {Filter} filter */
export const filterText = ({ only, hidden }) =>
  listText([...(only ? [only] : []), ...[...hidden].map((key) => `-${key}`)]);

/** @param {string|undefined} text @returns {Filter} */
export function filterValue(text) {
  const items = listItems(text);
  return {
    only: items.find((item) => !item.startsWith('-')) ?? '',
    hidden: new Set(items.flatMap((item) => (item.startsWith('-') ? item.slice(1) : []))),
  };
}

/** The strength at which a slice is drawn, 0 to 1. @param {Filter} filter @param {string} key empty without one */
export const strengthOf = ({ only, hidden }, key) => (hidden.has(key) ? 0 : key && only && key !== only ? FADED : 1);

/** The filter after a click on a chip; with `hides`, after Ctrl+click. @param {Filter} filter @param {string} key */
export function toggled({ only, hidden }, key, hides = false) {
  const next = new Set(hidden);
  if (!next.delete(key) && hides) next.add(key);
  return { only: hides || hidden.has(key) || only === key ? '' : key, hidden: next };
}

/**
 * @param {import('./model.js').Model} model
 * @param {(text: string) => void} announce announces a text
 */
export function createLegend(model, announce) {
  const line = h('div', null);
  const summary = h('summary', null);
  const menu = h('div', { class: 'menu' });
  const more = h('details', { class: 'choice' }, summary, menu);
  const element = h(
    'div',
    { class: 'chips', role: 'toolbar', 'aria-label': 'Show or hide classes', 'data-testid': 'timeline-legend' },
    line,
    more,
  );
  /** The label and the sample of each chip, by key. @type {Map<string, {label: string, sample: Node|null}>} */
  const entries = new Map();

  /** @param {string} key @param {boolean} [hides] */
  function toggle(key, hides) {
    model.filter(toggled(model.state.filter, key, hides));
    const { only, hidden } = model.state.filter;
    announce(`${entries.get(key)?.label} is ${hidden.has(key) ? 'hidden' : only === key ? 'shown alone' : 'shown'}.`);
  }

  const chipOf = (/** @type {string} */ key) => {
    const { only, hidden } = model.state.filter;
    const { label, sample } = entries.get(key) ?? { label: key, sample: null };
    const isHidden = hidden.has(key);
    const item = button([sample?.cloneNode(), label], () => {}, {
      class: isHidden ? 'off' : null,
      'aria-pressed': String(only === key),
      'aria-label': isHidden ? `${label}, hidden` : null,
      'data-key': key,
      'data-testid': `legend-${key}`,
      title: 'Click: only this at full strength. Ctrl+click or x: hide.',
    });
    item.addEventListener('click', (event) => toggle(key, event.ctrlKey || event.metaKey));
    return item;
  };

  /** Draws the chips; those beyond one line are in the menu. */
  function draw() {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.key;
    const keys = [...entries.keys()];
    const firstAnnotation = keys.find((key) => key.startsWith('/'));
    const chips = keys.map(chipOf);
    const heads = [h('span', { class: 'muted' }, 'host'), h('span', { class: 'muted' }, 'your annotations')];
    fill(line, heads[0], keys.flatMap((key, at) => (key === firstAnnotation ? [heads[1], chips[at]] : chips[at])));
    more.hidden = false;
    const beyond = chips.filter(({ offsetTop }) => offsetTop > heads[0].offsetTop + 8);
    more.hidden = !beyond.length;
    summary.textContent = `${beyond.length} more`;
    fill(menu, beyond);
    chips.find(({ dataset }) => dataset.key === focused)?.focus();
  }

  new ResizeObserver(draw).observe(element);
  model.on((changed) => { if (changed.has('filter')) draw(); });
  return {
    element,
    /** @param {import('../lib/types').Ready} session */
    open({ classes, annotations }) {
      entries.clear();
      for (const name of classes) entries.set(name, { label: LABELS[name], sample: classChip(name) || null });
      for (const [name, tone] of annotationTones(annotations)) {
        entries.set(`/${name}`, { label: name, sample: chip(toneColor(tone)) });
      }
      draw();
    },
    /** Hides the class of the chip with the focus, else this one. @param {string} key empty for none */
    hide(key) {
      const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.key;
      if (entries.has(focused ?? key)) toggle(focused ?? key, true);
    },
  };
}
