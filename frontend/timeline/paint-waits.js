/** Draws the op of a collective in two parts: its wait for the last host, and the time after the wait. */

import { clamp } from '../lib/axis.js';
import { CLASSES } from '../lib/classes.js';
import { MIN_TEXT_PX } from './draw.js';
import { laneTop } from './scene.js';
import { waitTexts } from './waits.js';

/** Shorter waits are not drawn. */
const MIN_WAIT_PX = 2;
const TEXT_PADDING_PX = 8;

/**
 * @param {ReturnType<typeof import('./draw.js').penOn>} pen
 * @param {import('./scene.js').Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {import('./waits.js').Bar} bar
 * @param {boolean} [outlined] whether the op is outlined, and drawn even if its wait is too short to draw
 */
export function drawWait({ drawSlice, textWidth, outline }, scene, palette, bar, outlined = false) {
  const { lane, start_ps, until_ps, end_ps, name } = bar;
  const { left, right, x } = scene.scale;
  const [from, until, to] = [start_ps, until_ps, end_ps].map((ps) => clamp(x(ps), left - 1, right + 1));
  const y = laneTop(scene, lane);
  const waitPx = until - from;
  const isWaitDrawn = waitPx >= MIN_WAIT_PX;
  if (to > until && (outlined || isWaitDrawn)) drawSlice(until, y, to - until, lane.h, palette.collective, null, name);
  const fitting = waitTexts(bar).find((candidate) => textWidth(candidate) + TEXT_PADDING_PX <= waitPx);
  const text = waitPx < MIN_TEXT_PX ? '' : fitting ?? '';
  if (isWaitDrawn) drawSlice(from, y, waitPx, lane.h, palette.classes[CLASSES.indexOf('wait')], 'hatch', text);
  if (outlined && to > from) outline(palette.sel, 1.5, from, y, to - from, lane.h);
}
