/** What the views of cards share: cards, small bars, links into the timeline. */

import { button, h, percent } from './dom.js';
import { CLASSES, LABELS, classCell, tone } from './classes.js';
import { count, cutMiddle, MISSING, plural, timeText } from './format.js';
import { gapText, spanText } from './link.js';
import { table, textColumn } from './table.js';

/** From this width on of the window tables have room. */
const ROOMY_PX = 1900;

/** @typedef {import('./types').ByClass} ByClass */
/** @typedef {import('./routes').ClassName} ClassName */
/** @typedef {import('./dom.js').Child} Child */

/**
 * @param {string} title
 * @param {{note?: Child, right?: Child|Child[], class?: string}} more
 * @param {...(Child|Child[])} body
 */
export function card(title, { note, right, class: kind = '' }, ...body) {
  return h(
    'section',
    { class: `card ${kind}`, 'aria-label': title },
    h(
      'header',
      null,
      h('h2', null, title, note ? [' ', h('small', null, note)] : null),
      h('span', { class: 'grow' }),
      right,
    ),
    h('div', { class: 'body' }, ...body),
  );
}

/**
 * A card that says why it has no numbers, and what would bring them.
 * @param {string} title
 * @param {string} text
 * @param {string} [advice]
 */
export const emptyCard = (title, text, advice) =>
  card(title, {}, h('p', null, text), advice ? h('p', { class: 'sec' }, advice) : null);

/**
 * A card of one table, which is called like the card unless `options` say otherwise.
 * @template T
 * @param {string} title
 * @param {Parameters<typeof card>[1]} more
 * @param {Omit<Parameters<typeof table<T>>[0], 'label'> & {label?: string}} options
 * @param {...(Child|Child[])} below
 */
export const tableCard = (title, more, options, ...below) =>
  card(title, more, h('div', { class: 'fill' }, table({ label: title, ...options })), ...below);

/**
 * The card of what needs devices, where there are none.
 * @param {string} title
 * @param {string} needs `Gaps need`
 * @param {string} [left] what there is without them
 */
export const noDeviceCard = (title, needs, left = '') =>
  emptyCard(
    title,
    `${needs} a device plane, and this capture has none.`,
    `Capture again while the device is running, with the profiler server in the process that owns the device. ${left}`,
  );

/**
 * @template T
 * @param {string} head
 * @param {(item: T) => ClassName|null|undefined} of
 * @param {Partial<import('./table.js').Column<T>>} [more]
 * @returns {import('./table.js').Column<T>}
 */
export const classColumn = (head, of, more) =>
  textColumn(head, (item) => LABELS[/** @type {ClassName} */ (of(item))], {
    title: undefined,
    cell(item) {
      const name = of(item);
      return name ? classCell(name) : '';
    },
    ...more,
  });

/**
 * A column whose cells lead somewhere.
 * @template T
 * @param {import('./table.js').Column<T>} column
 * @param {(item: T) => void} show
 * @returns {import('./table.js').Column<T>}
 */
export const linkedColumn = (column, show) => ({
  ...column,
  cell: (item) => link(column.cell(item), () => show(item)),
});

/** Source code or a name out of it, cut where it is long. @param {string|null} text @param {number} most letters */
export const codeCell = (text, most) => (text ? h('code', null, cutName(text, most)) : MISSING);

/**
 * A name in a table that is as wide as the window: wide windows have room for twice as many letters.
 * @param {string} text
 * @param {number} most
 */
export const cutName = (text, most) => cutMiddle(text, innerWidth < ROOMY_PX ? most : 2 * most);

/**
 * A program's name where space is short: the names of lazy graphs differ only after their first word.
 * @param {string|null} name
 */
export const shortProgram = (name) => (name ? cutMiddle(name.replace('SyncTensorsGraph.', '…'), 10) : MISSING);

/** Parts by class without text, in a line. @param {ByClass} parts */
export const miniBar = (parts) =>
  h(
    'div',
    { class: 'mini', 'aria-hidden': 'true' },
    CLASSES.filter((name) => parts[name]).map((name) =>
      h('i', { ...tone(name, { flex: `${parts[name]} 1 0` }), title: `${LABELS[name]} ${timeText(parts[name])}` }),
    ),
  );

/** A bar from the left. @param {number} part from 0 to 1 @param {string} [color] */
export const lengthBar = (part, color) => h('span', { class: color ? 'bar bare' : 'bar' },
  h('i', { style: { width: percent(Math.min(1, Math.max(0, part))), ...(color && { background: color }) } }));

/** The hue of a class as a style; signs that are no hue use the hatch. @param {ClassName} name */
export const hue = (name) => (name === 'wait' || name === 'unrecorded' ? 'var(--hatch)' : `var(--c-${name})`);

/** From what matters most. @param {string} [severity] */
export const severityRank = (severity = 'info') => ['critical', 'error', 'warning', 'info'].indexOf(severity);

/** How much it matters, always a word too. @param {string} [severity] */
export const severityTag = (severity = 'info') => h('span', { class: `tag ${severity}` }, severity);

/** @param {string} kind starved, queued or unknown */
export const kindTag = (kind) => h('span', { class: `tag ${kind === 'starved' ? 'warning' : ''}` }, kind);

/**
 * A number or name that leads somewhere.
 * @param {Child|Child[]} text
 * @param {() => void} action
 * @param {Record<string, any>} [attributes]
 */
export const link = (text, action, attributes) => button(text, action, { class: 'link', ...attributes });

/** @param {() => void} action @param {string} [testid] */
export const showButton = (action, testid) => button('Show', action, { class: 'small-button', 'data-testid': testid });

/**
 * A link that shows a span of time with room around it.
 * @param {number} start
 * @param {number} end
 * @param {number} [marginShare] share of its length
 */
function placeAround(start, end, marginShare = 0.4) {
  const margin = Math.max(1e6, (end - start) * marginShare);
  return spanText(Math.max(0, Math.round(start - margin)), Math.round(end + margin));
}

/** Link state of a window in the timeline. @param {number} start @param {number} end */
export const windowLinkState = (start, end) => ({
  v: 'timeline',
  w: placeAround(start, end),
  sel: `win:${spanText(start, end)}`,
  fi: '',
});

/** Link state of a gap in the timeline. @param {{device: string, start_ps: number, duration_ps: number}} gap */
export const gapLinkState = (gap) => ({
  v: 'timeline',
  w: placeAround(gap.start_ps, gap.start_ps + gap.duration_ps, 1.5),
  sel: gapText(gap),
  fi: '',
});

/**
 * With its host, where there are several.
 * @param {{name: string, host: string}} device
 * @param {unknown[]} hosts of the session
 */
export const deviceName = ({ name, host }, hosts) => (hosts.length > 1 ? `${name} · ${host}` : name);

/** `8 cores`, `1 core`, `2 of 8 cores` @param {number} all @param {number} [chosen] */
export const cores = (all, chosen = all) => part(all, chosen, 'core');
/** The same of hosts. @param {number} all @param {number} [chosen] */
export const hosts = (all, chosen = all) => part(all, chosen, 'host');
/** @param {number} all @param {number} chosen @param {string} noun */
const part = (all, chosen, noun) => `${chosen < all ? `${count(chosen)} of ` : ''}${plural(all, noun)}`;
