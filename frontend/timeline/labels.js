/** The column of labels at the left of the lanes. */

import { clipped, fitText, textWidth } from './slices.js';
import { laneTop, visibleLanes } from './scene.js';
import { RULER } from './ruler.js';

/** @param {CanvasRenderingContext2D} g @param {import('./scene.js').Scene} scene @param {import('../lib/theme.js').Palette} palette */
export function drawLabels(g, scene, palette) {
  const { scale, height } = scene;
  const right = scale.left - 8;
  g.fillStyle = palette.surface;
  g.fillRect(0, 0, scale.left, RULER);
  g.fillStyle = palette.ink3;
  g.fillText(fitText(g, 'ms from session start', right - 12), 12, 10.5);
  clipped(g, 0, RULER + 1, scale.left, height, () => {
    for (const lane of visibleLanes(scene)) {
      const y = laneTop(scene, lane) + lane.h / 2 + 0.5;
      if (lane.fold) {
        g.fillStyle = palette.ink3;
        g.fillText(lane.fold.open ? '▾' : '▸', lane.indent ? 20 : 9, y);
      }
      if (!lane.label) continue;
      g.fillStyle = palette.ink3;
      const aside = lane.right ? textWidth(g, lane.right) + 8 : 0;
      if (lane.right) g.fillText(lane.right, right - aside + 8, y);
      const x = lane.indent ? 34 : 22;
      g.fillStyle = lane.indent ? palette.ink2 : palette.ink;
      if (lane.bold) g.font = `600 ${g.font}`;
      const text = fitText(g, lane.label, right - x - aside);
      const wide = textWidth(g, text);
      g.fillText(text, x, y);
      if (lane.bold) g.font = g.font.replace(/^(600|bold) /, '');
      g.fillStyle = palette.ink3;
      if (lane.sub && x + wide + 10 + textWidth(g, lane.sub) < right - aside) g.fillText(lane.sub, x + wide + 10, y);
    }
  });
  g.fillStyle = palette.line;
  g.fillRect(scale.left - 1, 0, 1, height);
}
