/** Lays out the lanes: the session's rows from top to bottom, folded as the user left them. */

import { plural, share } from '../lib/format.js';
import { decodeText, escapeItem } from '../lib/link.js';
import { devicesOf, layoutGroups, firstActive } from './host-groups.js';

/** @typedef {import('../lib/types').Row} Row */
/** @typedef {import('../lib/types').Device} Device */
/**
 * One horizontal band of the canvas.
 * @typedef {object} Lane
 * @property {string} id unique; folds are stored by `fold.id`
 * @property {'slices'|'more'|'device'|'head'} kind `slices`: slices of one depth; `more`: threads folded into one lane;
 *   `device`: a folded device or several; `head`: the name of a host
 * @property {Row} row the row whose slices it shows; the first one if several are folded
 * @property {Row[]} rows all rows whose slices it shows
 * @property {number} depth
 * @property {number} y @property {number} h in px
 * @property {string} label
 * @property {string} [short] the label if the whole one does not fit
 * @property {string} [sub] a muted word after the label
 * @property {string} [right] a muted text at the right
 * @property {boolean} bold @property {number} indent 0 or 1
 * @property {{id: string, open: boolean}|null} fold what a click on the label opens or closes
 * @property {boolean} rule whether a line is above it
 */
/**
 * @typedef {object} LayoutOptions
 * @property {string[]} hosts names of the chosen hosts
 * @property {string[]} devices ids of the chosen devices
 * @property {Map<string, boolean>} open the folds that the user opened or closed, by id: whether each is open
 * @property {Map<string, number>} requiredDepths rows that take part in the selection, which are never folded, with the
 *   depth that they must show
 * @property {Device[]} allDevices of the session
 * @property {number} fontScale the root font size over 16 px
 * @property {(row: string) => string} shiftText by how much the rows of a row's device are moved; empty if they are not
 * @property {Set<string>} [hiddenRows] @property {Set<string>} [pinnedRows] by `arrangedId`
 * @property {number} [stepsPx] the height of the row of steps, if it shows many as bars
 * @property {number} [tightPx] by how much rows are lower than usual
 * @property {boolean} [compact] whether rows that do not show the host's activity in the selected gap are folded,
 *   unless the user opened them
 * @property {boolean} [severalHosts] whether the session has several hosts, each a group of rows
 * @property {string[]} [firstHosts] names of the hosts at the top; others follow in the session's order
 * @property {string[]} [lastHosts] names of the hosts at the bottom
 * @property {Map<string, string>} [shortNames] by the hosts' names
 * @property {Map<string, string>} [rankLabels] labels beside the hosts' names
 * @property {string[]} [unfolded] ids of threads, and of devices of a single host, that are open unless folded by the
 *   user
 * @property {string|null} [focusDevice] the device whose gaps were last selected or scrolled into view
 */

const ANNOTATION_DEPTHS = 5;
const OPEN_DEPTHS = 4;
/** Open depths in sessions with several hosts. */
const OPEN_DEPTHS_SEVERAL_HOSTS = 2;
const MAX_HELPER_THREADS = 5;
/** Open depths in compact lanes; those of the host are the step and its phases. */
const COMPACT_DEPTHS = { host: 2, helpersAndDevices: 1 };
/** Space above the first lane and below the last one, px. */
const MARGIN_PX = 3;
const RULE_SPACE_PX = 5;
/** Rows that stay in view take at most this share of its height. */
const MAX_FIXED_SHARE = 0.7;
const DEVICE_SPACE_PX = 4;
const FOLDED_PX = 11;
/** Space below the lane of folded threads, with or without their rows below it. */
const MORE_SPACE_PX = { open: 3, closed: 8 };
/** Rows up to this height are not made tighter in a low window. */
const MIN_TIGHT_PX = 12;

/**
 * The height of a lane of a row, the space between the row's lanes, and the space after its last one, px.
 * @typedef {{lane: number, between: number, after: number}} RowHeights
 */
/** @type {Partial<Record<import('../lib/types').RowKind, RowHeights>>} */
const HEIGHTS = {
  steps: { lane: 17, between: 2, after: 2 },
  annotations: { lane: 16, between: 1, after: 7 },
  classes: { lane: 22, between: 3, after: 3 },
  thread: { lane: 15, between: 1, after: 4 },
  gaps: { lane: 15, between: 1, after: 1 },
  scopes: { lane: 16, between: 1, after: 5 },
};
const DEFAULT_HEIGHTS = { lane: 17, between: 1, after: 1 };

/** What can be pinned and hidden as one: a device with all its rows, else a row. @param {Row} row */
export const arrangedId = ({ device, id }) => device ?? id;

/** The name of a thread without its number: `tf_Compute 12` → `tf_Compute`. @param {Row} row */
const stem = ({ label }) => label.replace(/ \(driving\)$/, '').replace(/[ _/-]?\d+$/, '');

/**
 * The threads of a host that are folded into one lane: minor ones, all but the busiest of threads with similar names,
 * and all but five helper threads, so that a pool of sixteen does not push the devices out of view. In compact lanes
 * all helper threads are folded. A thread that takes part in the selection is never folded.
 * @param {Row[]} rows of one host @param {Map<string, number>} requiredDepths @param {boolean} [compact]
 */
export function foldedThreads(rows, requiredDepths, compact = false) {
  const threads = rows.filter(({ kind }) => kind === 'thread');
  const shownStems = new Set(threads.filter(({ role }) => role === 'driving').map(stem));
  const busiest = threads.filter(({ unfolded, role }) => unfolded && role !== 'driving')
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0));
  const distinct = busiest.filter((row) => !shownStems.has(stem(row)) && shownStems.add(stem(row)));
  const shownHelpers = new Set(distinct.slice(0, compact ? 0 : MAX_HELPER_THREADS));
  return threads.filter((row) => row.role !== 'driving' && !shownHelpers.has(row) && !requiredDepths.has(row.id));
}

/** @type {Partial<Record<import('../lib/types').RowKind, string>>} */
const ROW_LABELS = { steps: 'Steps', annotations: 'Annotations', classes: 'Host, by class' };

/**
 * Stacks lanes one below the other.
 * @param {LayoutOptions} options
 */
function createStack({
  open, requiredDepths, fontScale, severalHosts, compact, stepsPx, tightPx = 0, unfolded = [],
}) {
  /** @type {Lane[]} */
  const lanes = [];
  const openDepths = severalHosts ? OPEN_DEPTHS_SEVERAL_HOSTS : OPEN_DEPTHS;
  let y = MARGIN_PX;
  let blockEnd = 0;

  /**
   * @param {Omit<Lane, 'y'|'h'|'bold'|'indent'|'rule'|'fold'> & Partial<Lane>} lane
   * @param {number} height px at a root font size of 16 px
   * @param {number} after space below the lane, px
   */
  function add(lane, height, after) {
    if (lane.rule) y += RULE_SPACE_PX;
    const h = (height > MIN_TIGHT_PX ? height - tightPx : height) * fontScale;
    lanes.push({ bold: false, indent: 0, rule: false, fold: null, ...lane, y: Math.round(y), h: Math.round(h) });
    y += h + after;
  }

  /** Adds a lane per depth of a row. @param {Row} row @param {Partial<Lane>} firstLane properties of the first lane */
  function addRow(row, firstLane) {
    const depths = Math.max(1, row.lanes);
    /** Rows with more depths are folded at first. */
    const maxDepths = compact
      ? COMPACT_DEPTHS[row.kind === 'annotations' || row.role === 'driving' ? 'host' : 'helpersAndDevices']
      : row.kind === 'annotations'
        ? ANNOTATION_DEPTHS
        : openDepths;
    /** The depths that a folded row shows. */
    const closedDepths =
      row.kind === 'annotations' || (depths > maxDepths && row.role === 'driving')
        ? maxDepths
        : depths <= maxDepths
          ? 1
          : Math.min(2, maxDepths);
    const canFold = depths > closedDepths;
    const shownDepths =
      !canFold || (open.get(row.id) ?? (depths <= maxDepths || unfolded.includes(row.id)))
        ? depths
        : Math.min(depths, Math.max(closedDepths, (requiredDepths.get(row.id) ?? 0) + 1));
    const { lane: height, between, after } = HEIGHTS[row.kind] ?? DEFAULT_HEIGHTS;
    const fold = canFold ? { id: row.id, open: shownDepths === depths } : null;
    for (let depth = 0; depth < shownDepths; depth += 1) {
      add(
        {
          id: `${row.id}/${depth}`, kind: 'slices', row, rows: [row], depth, label: '',
          ...(depth === 0 ? { fold, ...firstLane } : {}),
        },
        // The step and its phases are a little higher than the annotations in them.
        row.kind === 'annotations' && depth < 2
          ? height + 1 + depth
          : (row.kind === 'steps' && depth === 0 && stepsPx) || height,
        depth === shownDepths - 1 ? after : between,
      );
    }
  }

  return {
    lanes, add, addRow,
    /**
     * Adds rows of one host; folded threads share one lane.
     * @param {Row[]} rows
     * @param {(row: Row) => Partial<Lane>} firstLane properties of the first lane of a row
     */
    addHost(rows, firstLane) {
      const folded = foldedThreads(rows, requiredDepths, compact);
      for (const row of rows.filter((candidate) => !folded.includes(candidate))) {
        addRow(row, { label: ROW_LABELS[row.kind] ?? row.label, bold: row.kind === 'classes', ...firstLane(row) });
      }
      if (!folded.length) return;
      const id = `more.${rows[0].host}`;
      const fold = { id, open: open.get(id) ?? unfolded.includes(id) };
      add(
        { id, kind: 'more', row: folded[0], rows: folded, depth: 0, label: plural(folded.length, 'more thread'), fold },
        FOLDED_PX,
        fold.open ? MORE_SPACE_PX.open : MORE_SPACE_PX.closed,
      );
      if (fold.open) folded.forEach((row) => addRow(row, { label: row.label, indent: 1 }));
    },
    /**
     * Adds the lane of a folded device, or of several.
     * @param {string} id
     * @param {Row[]} rows
     * @param {Partial<Lane> & {label: string}} head
     * @param {number} [height] px
     */
    addFolded(id, rows, head, height = FOLDED_PX) {
      add(
        {
          id,
          kind: 'device',
          row: rows[0],
          rows: rows.filter(({ kind }) => kind === 'modules' || kind === 'ops'),
          depth: 0,
          ...head,
        },
        height,
        1,
      );
    },
    /** Adds all rows of a device. @param {Row[]} rows @param {Partial<Lane>} head */
    addDevice(rows, head) {
      rows.forEach((row, index) =>
        addRow(row, index === 0 ? { ...head, bold: true, sub: row.kind } : { label: row.label, indent: 1 }),
      );
      y += DEVICE_SPACE_PX;
    },
    /** Ends the block of rows that stay in view. */
    endBlock() {
      blockEnd = Math.round(y);
      y += RULE_SPACE_PX;
    },
    get blockEnd() { return blockEnd; },
    get height() { return Math.ceil(y) + MARGIN_PX; },
  };
}
/** @typedef {ReturnType<typeof createStack>} Stack */

/**
 * The lanes of rows, their height in px, and where the block ends that stays in view while threads scroll (0: without
 * a block).
 * @param {Row[]} rows in drawing order
 * @param {LayoutOptions} options
 * @returns {{lanes: Lane[], height: number, blockEnd: number}}
 */
export function layoutRows(rows, options) {
  const { hosts, devices, open, requiredDepths, allDevices, shiftText, severalHosts, focusDevice, unfolded = [] } =
    options;
  const { hiddenRows = new Set(), pinnedRows = new Set(), shortNames = new Map() } = options;
  const isPinned = (/** @type {string} */ id) => pinnedRows.has(id);
  const stack = createStack(options);
  // A row of the selection is not hidden.
  const visible = rows.filter(
    (row) =>
      (row.device ? devices.includes(row.device) : hosts.includes(row.host)) &&
      (!hiddenRows.has(arrangedId(row)) || requiredDepths.has(row.id)),
  );
  const ids = devicesOf(visible);
  const active = focusDevice && ids.includes(focusDevice) ? focusDevice : firstActive(ids, allDevices);
  /** Adds the rows of a device. @param {string} id @param {string} [host] what its label begins with */
  const addDevice = (id, host) => {
    const deviceRows = visible.filter((row) => row.device === id);
    const device = allDevices.find((candidate) => candidate.id === id);
    const isOpen = open.get(id) ?? (id === active || unfolded.includes(id) || Boolean(host));
    const isNeeded = deviceRows.some((row) => requiredDepths.has(row.id));
    const head = {
      label: `${host ?? ''}${device?.name ?? id}`,
      right: shiftText(deviceRows[deviceRows.length - 1].id) || (device ? share(device.duty_cycle) : ''),
      fold: { id, open: isOpen || isNeeded },
    };
    if (head.fold.open) stack.addDevice(deviceRows, head);
    else stack.addFolded(id, deviceRows, head);
  };
  if (severalHosts) {
    const pinned = visible.filter((row) => isPinned(arrangedId(row)));
    const hostOf = (/** @type {Row} */ { host }) => `${shortNames.get(host) ?? host}: `;
    devicesOf(pinned).forEach((id) => {
      const row = pinned.find(({ device }) => device === id);
      addDevice(id, row && hostOf(row));
    });
    pinned.filter(({ device }) => !device).forEach((row) => stack.addRow(row, { label: hostOf(row) + row.label }));
    if (pinned.length) stack.endBlock();
    layoutGroups(stack, visible.filter((row) => !pinned.includes(row)), options);
    return stack;
  }
  const [threads, host] = [true, false].map((isThread) =>
    visible.filter(({ device, kind }) => !device && (kind === 'thread') === isThread),
  );
  stack.addHost(host, ({ kind }) => ({ rule: kind === 'classes' }));
  [...ids.filter(isPinned), ...ids.filter((id) => !isPinned(id))].forEach((id) => addDevice(id));
  threads.filter(({ id }) => isPinned(id)).forEach((row) => stack.addRow(row, { label: row.label }));
  if (threads.length && stack.lanes.length) stack.endBlock();
  stack.addHost(threads.filter(({ id }) => !isPinned(id)), () => ({}));
  return stack;
}

/**
 * The height of the rows at the top that stay in view: whole rows of the block, as far as they leave room for others.
 * @param {Pick<Stack, 'lanes'|'height'|'blockEnd'>} layout
 * @param {number} room the height of the view, px
 */
export function fixedHeight({ lanes, height, blockEnd }, room) {
  if (height <= room) return blockEnd;
  let fixed = 0;
  for (const [at, { y, h, row }] of lanes.entries()) {
    const next = lanes[at + 1];
    if (y >= blockEnd || y + h > room * MAX_FIXED_SHARE) break;
    if (!next || next.y >= blockEnd) return blockEnd;
    if (next.row !== row) fixed = next.y - (next.rule ? RULE_SPACE_PX : 1);
  }
  return fixed;
}

/**
 * The ids of open folds, and of closed ones after a minus, as a link writes them: `h0.t3,-d1`. A minus at the start of
 * an id is encoded.
 * @param {Map<string, boolean>} open
 */
export const foldsText = (open) =>
  [...open].map(([id, on]) => (on ? '' : '-') + escapeItem(id).replace(/^-/, '%2D')).join(',');

/** @param {string|undefined} text @returns {Map<string, boolean>} */
export function foldsValue(text) {
  return new Map((text ? text.split(',') : []).map((item) => {
    const isClosed = item.startsWith('-');
    return [decodeText(isClosed ? item.slice(1) : item), !isClosed];
  }));
}
