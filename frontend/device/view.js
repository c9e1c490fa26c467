/** The Device view: its sections, one of which the link chooses. */

import { button, fill, h, rememberFocus } from '../lib/dom.js';
import { memorySection } from './memory.js';
import { workSection } from './work.js';

/** @typedef {import('../frame/views.js').View} View */
/**
 * Creates a section, which begins with the switch between sections, also while it is loading.
 * @typedef {(app: import('../frame/app.js').App, sectionSwitch: () => HTMLElement) => View} CreateSection
 */

/** By their values in links (`ds`), in their order. @type {{ds: string, label: string, create: CreateSection}[]} */
const SECTIONS = [
  { ds: '', label: 'Work', create: workSection },
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
      SECTIONS.map(({ ds, label }) =>
        button(label, () => choose(ds), {
          'aria-pressed': String(ds === chosen), 'data-testid': `section-${label.toLowerCase()}`,
        })));

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
      session = next;
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
