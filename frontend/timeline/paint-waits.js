/** Draws the op of a collective: its wait for the last host, and the rest. */

import { clamp } from '../lib/axis.js';
import { CLASSES } from '../lib/classes.js';
import { MIN_TEXT_PX } from './draw.js';
import { laneTop } from './scene.js';
import { waitTexts } from './waits.js';

const MIN_PX = 2;
const TEXT_ROOM = 8;

/**
 * @param {ReturnType<typeof import('./draw.js').penOn>} pen
 * @param {import('./scene.js').Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {import('./waits.js').Bar} bar
 * @param {boolean} [marked]
 */
export function drawWait({ drawSlice, textWidth, outline }, scene, palette, bar, marked = false) {
  const { lane, start_ps, until_ps, end_ps, name } = bar;
  const { left, right, x } = scene.scale;
  const [from, until, to] = [start_ps, until_ps, end_ps].map((ps) => clamp(x(ps), left - 1, right + 1));
  const y = laneTop(scene, lane);
  const space = until - from;
  if (to > until && (marked || space >= MIN_PX)) drawSlice(until, y, to - until, lane.h, palette.devColl, null, name);
  const fitting = waitTexts(bar).find((candidate) => textWidth(candidate) + TEXT_ROOM <= space);
  const text = space < MIN_TEXT_PX ? '' : fitting ?? '';
  if (space >= MIN_PX) drawSlice(from, y, space, lane.h, palette.classes[CLASSES.indexOf('wait')], 'hatch', text);
  if (marked && to > from) outline(palette.sel, 1.5, from, y, to - from, lane.h);
}
