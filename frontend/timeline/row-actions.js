/** Pins and hides rows: buttons at the label under the pointer, keys, and a menu of all rows. */

import { h, button } from '../lib/dom.js';
import { createMultiSelect } from '../frame/multi-select.js';
import { escapeInvisible } from '../lib/escapes.js';
import { arrangedId } from './layout.js';
import { laneTop } from './scene.js';

/** @typedef {import('./layout.js').Lane} Lane */

/** The height of the buttons. */
const BUTTON_PX = 16;

/**
 * @param {import('./model.js').Model} model
 * @param {() => import('./lanes.js').Lanes} lanes
 * @param {(row: import('./layout.js').Row) => string} nameOf the name of a row's device, else of the row
 * @param {(text: string) => void} announce announces a text
 */
export function createRowActions(model, lanes, nameOf, announce) {
  const { state } = model;
  /** @type {Map<string, string>} */
  let names = new Map();
  /** The lane whose label is under the pointer. @type {Lane|null} */
  let shown = null;
  const pin = button('pin', () => toggle('pinnedRows', shown), { 'data-testid': 'row-pin' });
  const hide = button('hide', () => toggle('hiddenRows', shown), { 'data-testid': 'row-hide' });
  const element = h('div', { class: 'row-actions hidden' }, pin, hide);
  const menu = createMultiSelect('rows', 'rows-menu', (values) => {
    const kept = new Set(values);
    model.arrangeRows({ hiddenRows: new Set(values.length ? [...names.keys()].filter((id) => !kept.has(id)) : []) });
  }, false);

  /** Whether a lane shows one row or one device. @param {Lane|null|undefined} lane @returns {lane is Lane} */
  const isArranged = (lane) =>
    Boolean(lane && (lane.kind === 'slices' || (lane.kind === 'device' && !lane.id.endsWith('.rest'))));

  /** Whether a row can be pinned: a thread or a device. @param {Lane} lane */
  const canPin = ({ row }) => Boolean(row.device || row.kind === 'thread');

  /** @param {'hiddenRows'|'pinnedRows'} key @param {Lane|null|undefined} lane */
  function toggle(key, lane) {
    if (!isArranged(lane) || (key === 'pinnedRows' && !canPin(lane))) return;
    const id = arrangedId(lane.row);
    const ids = new Set(state[key]);
    const isOn = !ids.delete(id);
    if (isOn) ids.add(id);
    model.arrangeRows({ [key]: ids });
    announce(`${names.get(id)} is ${key === 'hiddenRows' ? 'hidden' : isOn ? 'pinned' : 'no longer pinned'}.`);
    show(null);
  }

  /** Shows the buttons beside the label of a lane; null hides them. @param {Lane|null} lane */
  function show(lane) {
    shown = isArranged(lane) ? lane : null;
    element.classList.toggle('hidden', !shown);
    if (!shown) return;
    const id = arrangedId(shown.row);
    pin.classList.toggle('hidden', !canPin(shown));
    pin.textContent = state.pinnedRows.has(id) ? 'unpin' : 'pin';
    pin.setAttribute('aria-label', `${pin.textContent} ${names.get(id)}`);
    hide.setAttribute('aria-label', `hide ${names.get(id)}`);
    const y = laneTop(lanes().scene(), shown) + (shown.h - BUTTON_PX) / 2;
    element.style.top = `${lanes().element.offsetTop + y}px`;
    element.style.width = `${lanes().left() - 8}px`;
  }

  return {
    element, menu: menu.element,
    /** @param {Lane|null} lane */
    hover(lane) { if (lane || !element.matches(':hover')) show(lane); },
    /** Acts on the row under the pointer, else on that of the cursor. @param {'hiddenRows'|'pinnedRows'} key */
    run(key) { toggle(key, [shown, state.hover?.lane, state.cursor?.lane].find(isArranged)); },
    /** Lists the rows in the menu. @param {import('./layout.js').Row[]} rows */
    list(rows) {
      names = new Map(rows.map((row) => [arrangedId(row), escapeInvisible(nameOf(row))]));
      const { size } = state.hiddenRows;
      menu.set(
        [...names].map(([value, label]) => ({ value, label })),
        [...names.keys()].filter((id) => !state.hiddenRows.has(id)),
        { text: size ? `Rows · ${size} hidden` : 'Rows' },
      );
    },
  };
}
