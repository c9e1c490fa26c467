/** Draws folded lanes of several threads or devices: bars whose height is the covered share. */

import { COLLECTIVE, eachCover, eachSlice } from './columns.js';
import { maximum } from '../lib/totals.js';

/** @typedef {ReturnType<typeof import('./draw.js').penOn>} Pen */
/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {import('./layout.js').Lane} Lane */
/** @typedef {import('./columns.js').Columns} Columns */

/** Sums the covered share of each pixel of a lane. @param {import('./scale.js').Scale} scale */
function createBars(scale) {
  const sums = new Float32Array(Math.ceil(Math.max(0, scale.right - scale.left)) + 1);
  return {
    sums,
    /** @param {Columns} columns @param {number} i */
    add(columns, i) {
      eachCover(columns, i, scale, (start_ps, end_ps, share) => {
        const x = scale.x(start_ps) - scale.left;
        const end = Math.min(sums.length, scale.x(end_ps) - scale.left);
        for (let at = Math.max(0, Math.floor(x)); at < end; at += 1) {
          sums[at] += share * (Math.min(end, at + 1) - Math.max(x, at));
        }
      });
    },
    /**
     * @param {Pen} pen
     * @param {string} fill
     * @param {number} y
     * @param {number} h
     * @param {number} max the sum at which a bar has the height of the lane
     */
    draw(pen, fill, y, h, max) {
      sums.forEach((sum, at) => {
        if (sum > 0) pen.drawArea(fill, scale.left + at, scale.left + at + 1, y, h, Math.min(1, sum / max));
      });
    },
  };
}

/**
 * Draws how many of the threads that are folded into one lane are active.
 * @param {Pen} pen
 * @param {Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {Lane} lane
 * @param {number} y
 */
export function drawFoldedThreads(pen, { scale, slices }, palette, lane, y) {
  const bars = createBars(scale);
  for (const { id } of lane.rows) {
    const columns = slices?.rows.get(id)?.[0];
    eachSlice(columns, scale, (i) => { if (columns) bars.add(columns, i); });
  }
  bars.draw(pen, palette.ink3, y, lane.h, maximum(bars.sums, 1));
}

/**
 * Draws the runs of folded devices, and their collectives: single slices as a line per device, merged slices as bars of
 * the share that they cover on all devices together.
 * @param {Pen} pen
 * @param {Scene} scene
 * @param {import('../lib/theme.js').Palette} palette
 * @param {Lane} lane
 * @param {number} y
 */
export function drawFoldedDevices(pen, { scale, slices }, palette, lane, y) {
  const devices = [...new Set(lane.rows.map(({ device }) => device))];
  const height = lane.h - 2;
  const pitch = height / devices.length;
  const lineHeight = devices.length > 1 ? Math.max(1, pitch - 1) : height - 1;
  const bars = { runs: createBars(scale), collectives: createBars(scale) };
  // Without rows of runs, the ops of the devices are drawn in their place.
  const hasRowsOfRuns = lane.rows.some(({ kind }) => kind === 'modules');
  /** @type {(() => void)[]} */
  const lines = [];
  for (const { id, kind, device } of lane.rows) {
    const columns = slices?.rows.get(id)?.[0];
    const showsRuns = kind === 'modules' || !hasRowsOfRuns;
    eachSlice(columns, scale, (i, x, w) => {
      if (!columns || !(showsRuns || columns.classIndex[i] === COLLECTIVE)) return;
      const tone = showsRuns ? palette.run : palette.collective;
      if (columns.count[i] === 1) {
        lines.push(() => pen.box(tone.fill, x, y + pitch * devices.indexOf(device), Math.max(1, w), lineHeight));
      } else bars[showsRuns ? 'runs' : 'collectives'].add(columns, i);
    });
  }
  lines.forEach((draw) => draw());
  bars.runs.draw(pen, palette.run.fill, y, height, devices.length);
  bars.collectives.draw(pen, palette.collective.fill, y, height, devices.length);
}
