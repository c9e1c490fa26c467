/** The Device view: its sections, one of which the link chooses. */

import { getShared } from '../lib/api.js';
import { button, fill, h, refill, rememberFocus } from '../lib/dom.js';
import { enginesSection, noEnginesText } from './engines.js';
import { memorySection } from './memory.js';
import { workSection } from './work.js';

/** @typedef {import('../frame/views.js').View} View */
/**
 * Creates a section, which begins with the switch between sections, also while it is loading.
 * @typedef {(app: import('../frame/app.js').App, sectionSwitch: () => HTMLElement) => View} CreateSection
 */
/**
 * A section with its value in links (`ds`), and why it is empty, if it is.
 * @typedef {{
 *   ds: string, label: string, create: CreateSection,
 *   nothing?: (counts: import('../lib/routes').ViewCounts) => string}} Section
 */

/** In their order. @type {Section[]} */
const SECTIONS = [
  { ds: '', label: 'Work', create: workSection },
  { ds: 'engines', label: 'Engines', create: enginesSection, nothing: noEnginesText },
  { ds: 'memory', label: 'Memory', create: memorySection },
];

/** @param {import('../frame/app.js').App} app @returns {View} */
export function deviceView(app) {
  const element = h('div', { class: 'sections' });
  /** The sections that were in front. @type {Map<string, View>} */
  const created = new Map();
  /** @type {View} */
  let front;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  let isShown = false;
  /** @type {import('../lib/routes').ViewCounts|null} */
  let counts = null;

  const linked = () => Math.max(0, SECTIONS.findIndex(({ ds }) => ds === (app.link.state.ds ?? '')));
  /** @param {string} ds */
  function choose(ds) {
    app.link.set({ ds }, 'push');
    bringToFront();
    front.followLink?.();
  }
  /** @param {string} chosen */
  const sectionSwitch = (chosen) =>
    h('span', { class: 'segments', role: 'group', 'aria-label': 'Section', 'data-testid': 'device-sections' },
      sectionButtons(chosen));
  /** @param {string} chosen */
  const sectionButtons = (chosen) =>
    SECTIONS.map(({ ds, label, nothing }) => {
      const title = (counts && nothing?.(counts)) || '';
      return button(label, () => choose(ds), {
        class: title && 'nothing', title, 'aria-pressed': String(ds === chosen),
        'data-testid': `section-${label.toLowerCase()}`,
      });
    });

  function bringToFront() {
    const { ds, create } = SECTIONS[linked()];
    const next = created.get(ds) ?? create(app, () => sectionSwitch(ds));
    if (next === front) return;
    const restoreFocus = rememberFocus(element);
    front?.show(false);
    front = next;
    fill(element, front.element);
    restoreFocus();
    if (!created.has(ds) && session) front.open(session);
    created.set(ds, front);
    front.show(isShown);
  }
  bringToFront();

  /** @type {(() => void)|null} */
  let removeKeys = null;
  return {
    element,
    open(next) {
      [session, counts] = [next, null];
      getShared('counts', next.query).then((answer) => {
        if (session !== next) return;
        ({ counts } = answer);
        const place = element.querySelector('[data-testid=device-sections]');
        if (place) refill(place, sectionButtons(SECTIONS[linked()].ds));
      }).catch(() => {});
      created.forEach((section) => section.open(next));
    },
    filter: () => front.filter?.(),
    followLink() {
      bringToFront();
      front.followLink?.();
    },
    show(on) {
      isShown = on;
      bringToFront();
      front.show(on);
      removeKeys?.();
      removeKeys = on ? app.keys.add([{
        code: 'KeyT', shift: false, label: 't', does: 'next section',
        run: () => choose(SECTIONS[(linked() + 1) % SECTIONS.length].ds),
      }]) : null;
    },
    recolor: () => created.forEach((section) => section.recolor?.()),
  };
}
