/** Small things that several panels show: a link to an event, a class with its chip, a time as a link. */

import { h, button } from '../lib/dom.js';
import { LABELS, chip } from '../lib/classes.js';
import { cutMiddle } from '../lib/format.js';

/** @typedef {import('../lib/types').Brief} Brief */
/**
 * What a panel can ask the timeline to do.
 * @typedef {object} PanelActions
 * @property {(brief: Brief) => void} open select an event and bring it into sight
 * @property {(brief: Brief) => void} select select an event, leave the window alone
 * @property {() => void} frame
 * @property {() => void} list the window as a table
 * @property {() => void} close back from the table to the selection
 * @property {(row: string) => void} row bring a row into sight
 */
/** @typedef {{title: string, tags?: (string|Node)[], note?: string, buttons?: Node[], body: Node}} PanelContent */

/** @param {Brief} brief @param {PanelActions} act */
export function eventLink(brief, act) {
  return button(cutMiddle(brief.name), () => act.open(brief), { class: 'link', title: brief.name, 'data-event': brief.event });
}

/** @param {import('../lib/types').ClassName|null} name @returns {Node[]} */
export function classMark(name) {
  return name && LABELS[name] ? [chip(name)] : [];
}

/** @param {PanelActions} act */
export const frameButton = (act) => button('Frame', act.frame, {}, h('kbd', null, 'f'));

/** @param {PanelActions} act */
export const tableButton = (act) => button('Timeline as table', act.list, { 'data-testid': 'as-table' });
