/** Elements that several views share: cards, columns and cells, small bars, and link states of the timeline. */

import { button, h, percent } from './dom.js';
import { CLASSES, LABELS, classCell, fillColors, tone } from './classes.js';
import { count, cutMiddle, MISSING, plural, timeText } from './format.js';
import { gapText, msText, spanText, windowText } from './link.js';
import { table, textColumn } from './table.js';
import { total } from './totals.js';

/** In windows at least this wide, tables show longer names. */
const WIDE_WINDOW_PX = 1900;

/** @typedef {import('./types').ByClass} ByClass */
/** @typedef {import('./routes').ClassName} ClassName */
/** @typedef {import('./dom.js').Child} Child */

/**
 * @param {string} title
 * @param {{note?: Child, right?: Child|Child[], class?: string}} more
 * @param {...(Child|Child[])} body
 */
export function card(title, { note, right, class: className = '' }, ...body) {
  return h(
    'section',
    { class: `card ${className}`, 'aria-label': title },
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
 * A card in place of numbers that are missing: the reason, and what to do to get them.
 * @param {string} title
 * @param {string} text
 * @param {string} [advice]
 */
export const emptyCard = (title, text, advice) =>
  card(title, {}, h('p', null, text), advice ? h('p', { class: 'secondary' }, advice) : null);

/**
 * A card with one table, whose label is the card's title unless `options` has another one.
 * @template T
 * @param {string} title
 * @param {Parameters<typeof card>[1]} more
 * @param {Omit<Parameters<typeof table<T>>[0], 'label'> & {label?: string}} options
 * @param {...(Child|Child[])} below
 */
export const tableCard = (title, more, options, ...below) =>
  card(title, more, h('div', { class: 'fill' }, table({ label: title, ...options })), ...below);

export const NO_GAPS_TEXT = 'No gap of 10\u202fµs or more.';
export const NO_EXECUTIONS_TEXT = 'No execution in this capture.';
export const NO_ITERATIONS_TEXT = 'No server that decodes in this capture.';
export const NO_DEVICE_TEXT = 'This capture has no device plane.';

/**
 * The card in place of one that needs devices, for captures without devices.
 * @param {string} title
 * @param {string} needs subject and verb of its first sentence: `Gaps need`
 * @param {string} [available] a sentence on what the capture shows without devices
 */
export const noDeviceCard = (title, needs, available = '') =>
  emptyCard(
    title,
    `${needs} a device plane, and this capture has none.`,
    'Capture again while the device is running, with the profiler server in the process that owns the device. ' +
    available,
  );

/**
 * @template T
 * @param {string} head
 * @param {(item: T) => ClassName|null|undefined} classOf
 * @param {Partial<import('./table.js').Column<T>>} [more]
 * @returns {import('./table.js').Column<T>}
 */
export const classColumn = (head, classOf, more) =>
  textColumn(head, (item) => LABELS[/** @type {ClassName} */ (classOf(item))], {
    title: undefined,
    cell(item) {
      const name = classOf(item);
      return name ? classCell(name) : '';
    },
    ...more,
  });

/**
 * A column whose cells are links.
 * @template T
 * @param {import('./table.js').Column<T>} column
 * @param {(item: T) => void} show
 * @returns {import('./table.js').Column<T>}
 */
export const linkedColumn = (column, show) => ({
  ...column,
  cell: (item) => link(column.cell(item), () => show(item)),
});

/** Source code, or a name in it, cut if it is long. @param {string|null} text @param {number} maxLetters */
export const codeCell = (text, maxLetters) => (text ? h('code', null, cutName(text, maxLetters)) : MISSING);

/**
 * A name in a table that is as wide as the window, cut if it is long; wide windows show twice as many letters.
 * @param {string} text
 * @param {number} maxLetters
 */
export const cutName = (text, maxLetters) =>
  cutMiddle(text, innerWidth < WIDE_WINDOW_PX ? maxLetters : 2 * maxLetters);

/** A program's name without the word with which the names of all lazy graphs begin. @param {string} name */
const withoutPrefix = (name) => name.replace('SyncTensorsGraph.', '…');

/** A program's name in little space. @param {string|null} name */
export const shortProgram = (name) => (name ? cutMiddle(withoutPrefix(name), 10) : MISSING);

/** A program's name beside another one in a table that is as wide as the window. @param {string|null} name */
export const cutProgram = (name) => (name ? cutName(withoutPrefix(name), 22) : MISSING);

/** A stacked bar of times by class, without text. @param {ByClass} parts */
export const miniBar = (parts) =>
  h(
    'div',
    { class: 'mini', 'aria-hidden': 'true' },
    CLASSES.filter((name) => parts[name]).map((name) =>
      h('i', { ...tone(name, { flex: `${parts[name]} 1 0` }), title: `${LABELS[name]} ${timeText(parts[name])}` }),
    ),
  );

/** A bar from the left. @param {number} share its length, from 0 to 1 @param {string} [color] */
export const lengthBar = (share, color) => h('span', { class: color ? 'bar bare' : 'bar' },
  h('i', { style: { width: percent(Math.min(1, Math.max(0, share))), ...(color && { background: color }) } }));

/**
 * The first sentence of a view beside what to do about it.
 * @param {string} label for screen readers @param {string} headline @param {string} details @param {string} testid
 */
export const answerSection = (label, headline, details, testid) =>
  h(
    'section',
    { class: 'answer', 'aria-label': label, 'data-testid': testid },
    h('p', { class: 'headline' }, headline),
    details && h('p', { class: 'details' }, details),
  );

/**
 * A piece of a bar: `look` is the name of its colour and the CSS class of its texture.
 * @typedef {{ps: number, look: [color: string, texture: string], label?: string|false, title: string}} Piece
 */
/**
 * The pieces of a row on an axis, side by side from an instant on. A label is shown where it fits as a whole.
 * @param {Piece[]} pieces @param {number} axis_ps length of the axis
 * @param {number} [from_ps] @param {Record<string, any>} [attributes]
 */
export function stackedBar(pieces, axis_ps, from_ps = 0, attributes = {}) {
  const shown = pieces.filter(({ ps }) => ps > 0);
  return h(
    'span',
    {
      class: 'stack',
      ...attributes,
      style: { left: percent(from_ps / axis_ps), width: percent(total(shown, 'ps') / axis_ps) },
    },
    shown.map(({ ps, look: [color, texture], label, title }) =>
      h(
        'span',
        { class: texture, style: { ...fillColors(color), flex: `${ps} 1 0` }, title },
        label && h('b', null, label),
      ),
    ),
  );
}

/**
 * A row on an axis: its name, a value, bars, and a note.
 * @param {Child} name @param {string} value @param {Child[]} bars @param {Child|Child[]} note @param {string} [testid]
 */
export const rung = (name, value, bars, note, testid) =>
  h(
    'div',
    { class: 'rung', role: 'listitem', 'data-testid': testid },
    h('span', { class: 'rung-name' }, name),
    h('b', { class: 'numeric' }, value),
    h('span', { class: 'rung-bar', 'aria-hidden': 'true' }, bars),
    h('small', { class: 'secondary' }, note),
  );

/** The axis below such rows. @param {Child[]} ticks */
export const rungAxis = (ticks) =>
  h('div', { class: 'rung rung-axis', 'aria-hidden': 'true' }, h('span', { class: 'rung-bar' }, ticks));

/**
 * The colour of a class as a CSS value; for classes that are drawn with a texture, that of the texture.
 * @param {ClassName} name
 */
export const classColor = (name) => (name === 'wait' || name === 'unrecorded' ? 'var(--hatch)' : `var(--c-${name})`);

/** The rank of a severity, 0 for the most severe. @param {string} [severity] */
export const severityRank = (severity = 'info') => ['critical', 'error', 'warning', 'info'].indexOf(severity);

/** @param {string} [severity] */
export const severityTag = (severity = 'info') => h('span', { class: `tag ${severity}` }, severity);

/** @param {string} kind starved, queued or unknown */
export const kindTag = (kind) => h('span', { class: `tag ${kind === 'starved' ? 'warning' : ''}` }, kind);

/**
 * A button that looks like a link.
 * @param {Child|Child[]} text
 * @param {() => void} action
 * @param {Record<string, any>} [attributes]
 */
export const link = (text, action, attributes) => button(text, action, { class: 'link', ...attributes });

/** @param {() => void} action @param {string} [testid] */
export const showButton = (action, testid) => button('Show', action, { class: 'small-button', 'data-testid': testid });

/** The least margin around an interval that a link shows, ps. */
const MIN_MARGIN_PS = 1e6;

/**
 * An interval with a margin on both sides, as a link writes it.
 * @param {number} start ps
 * @param {number} end ps
 * @param {number} [marginShare] share of its length
 */
function framedSpanText(start, end, marginShare = 0.4) {
  const margin = Math.max(MIN_MARGIN_PS, (end - start) * marginShare);
  return spanText(Math.max(0, Math.round(start - margin)), Math.round(end + margin));
}

/** Link state of a window in the timeline. @param {number} start ps @param {number} end ps */
export const windowLinkState = (start, end) => ({
  v: 'timeline',
  w: framedSpanText(start, end),
  sel: windowText(start, end),
  fi: '',
});

/**
 * Link state of an event in the timeline.
 * @param {{row: string, depth: number, start_ps: number, duration_ps: number}} event
 */
export const eventLinkState = ({ row, depth, start_ps, duration_ps }) => ({
  v: 'timeline',
  w: framedSpanText(start_ps, start_ps + duration_ps, 1),
  sel: `ev:${row}@${msText(start_ps, true)}${depth ? `/${depth}` : ''}`,
});

/** Link state of a gap in the timeline. @param {{device: string, start_ps: number, duration_ps: number}} gap */
export const gapLinkState = (gap) => ({
  v: 'timeline',
  w: framedSpanText(gap.start_ps, gap.start_ps + gap.duration_ps, 1.5),
  sel: gapText(gap),
  fi: '',
});

/**
 * A device's name, with its host in sessions of several hosts.
 * @param {{name: string, host: string}} device
 * @param {unknown[]} sessionHosts
 */
export const deviceName = ({ name, host }, sessionHosts) => (sessionHosts.length > 1 ? `${name} · ${host}` : name);

/** `8 cores`, `1 core`, `2 of 8 cores` @param {number} all @param {number} [chosen] */
export const coreCountText = (all, chosen = all) => chosenOf(all, chosen, 'core');
/** `8 hosts`, `1 host`, `2 of 8 hosts` @param {number} all @param {number} [chosen] */
export const hostCountText = (all, chosen = all) => chosenOf(all, chosen, 'host');
/** @param {number} all @param {number} chosen @param {string} noun */
const chosenOf = (all, chosen, noun) => `${chosen < all ? `${count(chosen)} of ` : ''}${plural(all, noun)}`;
