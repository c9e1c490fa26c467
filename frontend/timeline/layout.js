/** The lanes from top to bottom with their heights: the session's rows, folded as the user left them. */

import { plural, share } from '../lib/format.js';
import { devicesOf, layoutGroups, mostActive } from './host-groups.js';
import { gapRow } from './selection.js';

/** @typedef {import('../lib/types').Row} Row */
/** @typedef {import('../lib/types').Device} Device */
/**
 * One horizontal band of the canvas.
 * @typedef {object} Lane
 * @property {string} id unique; folds are stored by `fold.id`
 * @property {'slices'|'more'|'device'|'head'} kind slices of one depth; threads folded into one; a folded device, or
 *   several; the name of a host
 * @property {Row} row the row whose slices it shows (the first of folded ones)
 * @property {Row[]} rows all rows that it draws from
 * @property {number} depth
 * @property {number} y @property {number} h
 * @property {string} label
 * @property {string} [short] where the label does not fit
 * @property {string} [sub]
 * @property {string} [right]
 * @property {boolean} bold @property {number} indent
 * @property {{id: string, open: boolean}|null} fold
 * @property {boolean} rule a line above
 */
/**
 * @typedef {object} LayoutOptions
 * @property {string[]} hosts names of those that are chosen
 * @property {string[]} devices ids of those that are chosen
 * @property {Map<string, boolean>} open folds that the user opened or closed
 * @property {Map<string, number>} taking rows that take part in the selection and the depth they need: never folded
 *   away
 * @property {Device[]} all devices of the session
 * @property {number} unit 1 at a root size of 16 px
 * @property {(row: string) => string} shift how far the rows of the device are moved that this one belongs to; empty:
 *   they are not
 * @property {number} [tight] px by which rows are lower
 * @property {boolean} [compact] rows that do not say what the host did in the selected gap are folded, unless the user
 *   opened them
 * @property {boolean} [several] the session has several hosts: each is a group of its own
 * @property {string[]} [first] names of hosts that come first, the others follow in the session's order
 * @property {string[]} [last]
 * @property {Map<string, string>} [short] names of hosts where the whole one does not fit
 * @property {Map<string, string>} [ranks] label beside a host's name
 * @property {string|null} [focus] the device of the gap that was selected last
 */

const ANNOTATION_DEPTHS = 5;
const OPEN_DEPTHS = 4;
/** Open depths in sessions with several hosts. */
const OPEN_DEPTHS_SEVERAL_HOSTS = 2;
const MAX_HELPER_THREADS = 5;
/** Depths in compact lanes; of the host, the step and its phases. */
const COMPACT_DEPTHS = { host: 2, helpersAndDevices: 1 };
const RULE_SPACE_PX = 5;
/** Rows higher than this are tighter in a low window. */
const MIN_TIGHT_PX = 12;

/**
 * Height of a depth, and the space after it and after the last one.
 * @type {Partial<Record<import('../lib/types').RowKind, number[]>>}
 */
const HEIGHTS = {
  steps: [17, 2, 2],
  annotations: [16, 1, 7],
  classes: [22, 3, 3],
  thread: [15, 1, 4],
  gaps: [15, 1, 1],
  scopes: [16, 1, 5],
};

/** Name of a thread without its number: `tf_Compute 12` → `tf_Compute`. @param {Row} row */
const stem = ({ label }) => label.replace(/ \(driving\)$/, '').replace(/[ _/-]?\d+$/, '');

/**
 * The threads of a host that are drawn in the folded lane: those that only fill in, and of similar ones all but the
 * busiest, so that a pool of sixteen does not push the devices out of sight. In compact lanes all helper threads are
 * folded. A thread that takes part in the selection is never folded.
 * @param {Row[]} rows of one host @param {Map<string, number>} taking @param {boolean} [compact]
 */
export function foldedThreads(rows, taking, compact = false) {
  const threads = rows.filter(({ kind }) => kind === 'thread');
  const shown = new Set(threads.filter(({ role }) => role === 'driving').map(stem));
  const busiest = threads.filter(({ unfolded, role }) => unfolded && role !== 'driving')
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
  const shownHelpers = new Set(
    busiest.filter((row) => !shown.has(stem(row)) && shown.add(stem(row))).slice(0, compact ? 0 : MAX_HELPER_THREADS),
  );
  return threads.filter((row) => row.role !== 'driving' && !shownHelpers.has(row) && !taking.has(row.id));
}

/** @type {Partial<Record<import('../lib/types').RowKind, string>>} */
const NAMES = { steps: 'Steps', annotations: 'Annotations', classes: 'Host, by class' };

/**
 * Lanes one below the other.
 * @param {LayoutOptions} options
 */
function createStack({ open, taking, unit, several, compact, tight = 0 }) {
  /** @type {Lane[]} */
  const lanes = [];
  const mostOpen = several ? OPEN_DEPTHS_SEVERAL_HOSTS : OPEN_DEPTHS;
  let y = 3;

  /**
   * @param {Omit<Lane, 'y'|'h'|'bold'|'indent'|'rule'|'fold'> & Partial<Lane>} lane
   * @param {number} h
   * @param {number} after
   */
  function add(lane, h, after) {
    if (lane.rule) y += RULE_SPACE_PX;
    const tall = (h > MIN_TIGHT_PX ? h - tight : h) * unit;
    lanes.push({ bold: false, indent: 0, rule: false, fold: null, ...lane, y: Math.round(y), h: Math.round(tall) });
    y += tall + after;
  }

  /** @param {Row} row @param {Partial<Lane>} first properties of the row's first lane */
  function addRow(row, first) {
    const depths = Math.max(1, row.lanes);
    const maxDepths = compact
      ? COMPACT_DEPTHS[row.kind === 'annotations' || row.role === 'driving' ? 'host' : 'helpersAndDevices']
      : row.kind === 'annotations'
        ? ANNOTATION_DEPTHS
        : mostOpen;
    const closed =
      row.kind === 'annotations' || (depths > maxDepths && row.role === 'driving')
        ? maxDepths
        : depths <= maxDepths
          ? 1
          : Math.min(2, maxDepths);
    const folds = depths > closed;
    const shown =
      !folds || (open.get(row.id) ?? depths <= maxDepths)
        ? depths
        : Math.min(depths, Math.max(closed, (taking.get(row.id) ?? 0) + 1));
    const [tall, after, last] = HEIGHTS[row.kind] ?? [17, 1, 1];
    for (let depth = 0; depth < shown; depth += 1) {
      add({
        id: `${row.id}/${depth}`, kind: 'slices', row, rows: [row], depth, label: '',
        ...(depth === 0 ? { fold: folds ? { id: row.id, open: shown === depths } : null, ...first } : {}),
      }, row.kind === 'annotations' && depth < 2 ? tall + 1 + depth : tall, depth === shown - 1 ? last : after);
    }
  }

  return {
    lanes, add, addRow,
    /**
     * Rows of one host; minor threads share one folded lane.
     * @param {Row[]} rows
     * @param {(row: Row) => Partial<Lane>} first
     */
    addHost(rows, first) {
      const folded = foldedThreads(rows, taking, compact);
      for (const row of rows.filter((candidate) => !folded.includes(candidate))) {
        addRow(row, { label: NAMES[row.kind] ?? row.label, bold: row.kind === 'classes', ...first(row) });
      }
      if (!folded.length) return;
      const id = `more.${rows[0].host}`;
      const fold = { id, open: open.get(id) ?? false };
      add(
        { id, kind: 'more', row: folded[0], rows: folded, depth: 0, label: plural(folded.length, 'more thread'), fold },
        11,
        fold.open ? 3 : 8,
      );
      if (fold.open) folded.forEach((row) => addRow(row, { label: row.label, indent: 1 }));
    },
    /**
     * A folded device, or several.
     * @param {string} id
     * @param {Row[]} rows
     * @param {Partial<Lane> & {label: string}} head
     * @param {number} [tall]
     */
    addFolded(id, rows, head, tall = 11) {
      add(
        {
          id,
          kind: 'device',
          row: rows[0],
          rows: rows.filter(({ kind }) => kind === 'modules' || kind === 'ops'),
          depth: 0,
          ...head,
        },
        tall,
        1,
      );
    },
    /** All rows of a device. @param {Row[]} rows @param {Partial<Lane>} head */
    addDevice(rows, head) {
      rows.forEach((row, index) =>
        addRow(row, index === 0 ? { ...head, bold: true, sub: row.kind } : { label: row.label, indent: 1 }),
      );
      y += 4;
    },
    get height() { return Math.ceil(y) + 3; },
  };
}
/** @typedef {ReturnType<typeof createStack>} Stack */

/** @param {Row[]} rows in drawing order @param {LayoutOptions} options @returns {{lanes: Lane[], height: number}} */
export function layoutRows(rows, options) {
  const { hosts, devices, open, taking, all, shift, several, focus } = options;
  const stack = createStack(options);
  const visible = rows.filter(({ host, device }) => (device ? devices.includes(device) : hosts.includes(host)));
  if (several) {
    layoutGroups(stack, visible, options);
    return stack;
  }
  const host = visible.filter((row) => !row.device);
  if (host.length) stack.addHost(host, ({ kind }) => ({ rule: kind === 'classes' }));
  const ids = devicesOf(visible);
  const active = focus && ids.includes(focus) ? focus : mostActive(ids, all);
  ids.forEach((id, place) => {
    const deviceRows = visible.filter((row) => row.device === id);
    const device = all.find((candidate) => candidate.id === id);
    const head = {
      label: device?.name ?? id,
      right: shift(deviceRows[deviceRows.length - 1].id) || (device ? share(device.duty_cycle) : ''),
      rule: place === 0,
      fold: { id, open: (open.get(id) ?? id === active) || taking.has(gapRow(id)) },
    };
    if (head.fold.open) stack.addDevice(deviceRows, head);
    else stack.addFolded(id, deviceRows, head);
  });
  return stack;
}

/**
 * Whether a fold is open or closed as a link writes it: `h0.t3,-d1` (a minus closes).
 * @param {Map<string, boolean>} open
 */
export const foldsText = (open) => [...open].map(([id, on]) => (on ? id : '-' + id)).join(',');

/** @param {string|undefined} text @returns {Map<string, boolean>} */
export function foldsValue(text) {
  return new Map((text ? text.split(',') : []).map((id) => (id.startsWith('-') ? [id.slice(1), false] : [id, true])));
}
