/** Draws many steps as bars: the slowest step of each pixel, by what it consists of. */

import { niceStep } from '../lib/axis.js';
import { CLASSES } from '../lib/classes.js';
import { digits, unitFor } from '../lib/format.js';
import { eachSlice } from './columns.js';
import { textsOf } from './slice-style.js';

/** @typedef {import('./columns.js').Columns} Columns */
/** A bar: a step by its index. @typedef {{i: number, x: number, w: number, duration_ps: number}} Bar */

/** Space between bars up to this width is filled, as a step that is not the slowest of its pixel is there. */
const MAX_FILLED_PX = 3;
/** Bars may be this much higher than 99 in 100 of them. */
const HEADROOM = 1.25;
const USUAL_SHARE = 0.99;
const MAX_TAGS = 4;
const TAG_PITCH_PX = 18;
const TICK_PITCH_PX = 48;
/** Lower lanes have neither ticks nor tags. */
const MIN_TEXTS_PX = 60;

/**
 * The bars of a window, and the longest step that is no outlier.
 * @param {Columns} columns
 * @param {import('./scale.js').Scale} scale
 */
export function stepBars({ start, end, ...columns }, scale) {
  /** @type {Bar[]} */
  const bars = [];
  eachSlice({ start, end, ...columns }, scale, (i, from, w) => {
    const x = Math.floor(from);
    const bar = { i, x, w: Math.max(1, Math.round(from + w) - x), duration_ps: end[i] - start[i] };
    const last = bars.at(-1);
    if (last?.x !== x) bars.push(bar);
    else if (last.duration_ps < bar.duration_ps) bars[bars.length - 1] = bar;
  });
  bars.forEach((bar, at) => {
    const free = (bars[at + 1]?.x ?? 0) - bar.x;
    if (free > bar.w && free <= MAX_FILLED_PX) bar.w = free;
  });
  const durations = bars.map(({ duration_ps }) => duration_ps).sort((a, b) => a - b);
  return { bars, usual_ps: durations[Math.floor(USUAL_SHARE * (durations.length - 1))] ?? 0 };
}

/**
 * Places tags in lines, each in the first one with room, without leaving the lanes.
 * @param {{x: number, w: number}[]} tags centres and widths
 * @param {number} left @param {number} right
 * @returns {{x: number, line: number}[]} left edges
 */
export function placeTags(tags, left, right) {
  /** @type {{x: number, w: number, line: number}[]} */
  const placed = [];
  for (const { x: centre, w } of tags) {
    const x = Math.max(left, Math.min(right - w, centre - w / 2));
    let line = 0;
    while (placed.some((other) => other.line === line && x < other.x + other.w && other.x < x + w)) line += 1;
    placed.push({ x, w, line });
  }
  return placed.map(({ x, line }) => ({ x, line }));
}

/**
 * Draws the bars of a lane. Returns its ticks.
 * @param {ReturnType<typeof import('./draw.js').penOn>} pen
 * @param {import('./scene.js').Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {import('./layout.js').Lane} lane
 * @param {Columns} columns
 * @param {number} y
 * @param {(tone: import('../lib/theme.js').Tone, key: string) => import('../lib/theme.js').Tone|null} filtered
 * @returns {{text: string, y: number}[]}
 */
export function drawSteps({ box, clipped, tag, tagWidth }, { scale, slices }, palette, lane, columns, y, filtered) {
  const { left, right } = scale;
  const { bars, usual_ps } = stepBars(columns, scale);
  const slowest = bars.filter(({ duration_ps }) => duration_ps > usual_ps)
    .sort((a, b) => b.duration_ps - a.duration_ps).slice(0, MAX_TAGS);
  const top_ps = Math.min(slowest[0]?.duration_ps ?? usual_ps, usual_ps * HEADROOM);
  const heights = bars.map(({ duration_ps }) => (lane.h * duration_ps) / top_ps);
  const bottoms = bars.map(() => y + lane.h);
  clipped(left, y, right - left, lane.h, () => {
    bars.forEach(({ x, w }, at) => box(palette.line2, x, bottoms[at] - heights[at], w, heights[at]));
    for (const [name, percents] of Object.entries(columns.parts ?? {})) {
      const tone = palette.classes[CLASSES.indexOf(/** @type {'other'} */ (name))] ?? palette.run;
      const fill = filtered(tone, name)?.fill ?? '';
      bars.forEach(({ i, x, w }, at) => {
        const height = (heights[at] * percents[i]) / 100;
        bottoms[at] -= height;
        if (height && fill) box(fill, x, bottoms[at], w, height);
      });
    }
  });
  if (lane.h < MIN_TEXTS_PX) return [];
  const texts = slowest.map(({ i }) => textsOf('steps', columns, i, slices?.names ?? [])[0]);
  placeTags(slowest.map(({ x, w }, at) => ({ x: x + w / 2, w: tagWidth(texts[at]) })), left, right).forEach(
    ({ x, line }, at) => tag(palette.surface, palette.ink, texts[at], x, y + TAG_PITCH_PX * (line + 0.5)),
  );
  const unit = unitFor(top_ps);
  const step = niceStep((top_ps / unit.ps) * (TICK_PITCH_PX / lane.h));
  return Array.from({ length: Math.floor(top_ps / unit.ps / step) }, (_, at) => {
    const tickY = y + lane.h * (1 - (step * (at + 1) * unit.ps) / top_ps);
    box(palette.line, left, tickY, right - left, 1, 0.6);
    return { text: `${digits(step * (at + 1), step < 1 ? 1 : 0)}\u202f${unit.name}`, y: tickY };
  });
}
