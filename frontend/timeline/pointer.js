/**
 * The pointer on the lanes: a drag selects, from edge to edge of slices that are near, or pans on the ruler or with
 * Shift; the wheel zooms with Ctrl, and pans sideways or with Shift; a double click frames a slice.
 */

import { clamp } from '../lib/axis.js';
import { RULER_PX } from './paint.js';
import { spanBetween } from './overview-strip.js';
import { snapToEdge } from './scene.js';

/** @typedef {import('./scale.js').Span} Span */

/** Shorter moves of a pressed pointer are clicks. */
const MIN_DRAG_PX = 4;
/** An edge of the selected window can be dragged within this distance. */
const GRIP_PX = 5;
const MAX_ZOOM_FACTOR = 1.5;
/** The wheel delta of the full factor. A notch has more; a pinch on a trackpad sends many events with less. */
const FULL_ZOOM_PX = 30;

/** The factor of a wheel event, above 1 to zoom in. @param {number} deltaY px, negative to zoom in */
export const wheelZoomFactor = (deltaY) => MAX_ZOOM_FACTOR ** clamp(-deltaY / FULL_ZOOM_PX, -1, 1);

/**
 * @param {HTMLElement} element
 * @param {object} act
 * @param {() => import('./scene.js').Scene} act.scene
 * @param {() => Span|null} act.selectedWindow its edges can be dragged
 * @param {(span: Span|null) => void} act.preview @param {(span: Span) => void} act.select
 * @param {(by_ps: number) => void} act.pan @param {(factor: number, at_ps: number) => void} act.zoom
 * @param {(x: number, y: number, spans: boolean) => void} act.click `spans`: with Shift
 * @param {(x: number, y: number) => void} act.frame
 * @param {(x: number, y: number, event: PointerEvent|null) => void} act.hover null while the pointer drags
 *   or after it has left
 */
export function followPointer(element, act) {
  /** @type {{x: number, mode: 'select'|'pan', at: number, anchor: number, moved: boolean}|null} */
  let drag = null;

  /**
   * The pointer's position on the canvas and in time; if it is on an edge of the selected window, also the time of the
   * opposite edge.
   * @param {MouseEvent} event
   */
  const locate = (event) => {
    const box = element.getBoundingClientRect();
    const { scale } = act.scene();
    const x = event.clientX - box.left;
    const span = act.selectedWindow();
    const isNear = (/** @type {number} */ ps) => Math.abs(scale.x(ps) - x) <= GRIP_PX;
    const oppositeEdge =
      !span || x < scale.left ? null : isNear(span.start_ps) ? span.end_ps : isNear(span.end_ps) ? span.start_ps : null;
    return { scale, x, y: event.clientY - box.top, at: scale.ps(clamp(x, scale.left, scale.right)), oppositeEdge };
  };

  element.addEventListener('pointerdown', (event) => {
    const { scale, x, y, at, oppositeEdge } = locate(event);
    // The client width excludes the scroll bar, which scrolls by itself.
    if (event.button !== 0 || x > element.clientWidth) return;
    const anchor = oppositeEdge ?? snapToEdge(act.scene(), at, y);
    drag = { x, mode: y < RULER_PX || event.shiftKey ? 'pan' : 'select', at, moved: false, anchor };
    if (x >= scale.left) element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', (event) => {
    const { scale, x, y, at, oppositeEdge } = locate(event);
    if (!drag) {
      element.style.cursor = x < scale.left ? '' : y < RULER_PX ? 'grab' : oppositeEdge === null ? '' : 'ew-resize';
      act.hover(x, y, event);
    } else if (drag.x >= scale.left && (drag.moved || Math.abs(x - drag.x) >= MIN_DRAG_PX)) {
      drag.moved = true;
      act.hover(x, y, null);
      if (drag.mode === 'pan') act.pan(drag.at - scale.ps(x));
      else act.preview(spanBetween(snapToEdge(act.scene(), at, y), drag.anchor));
    }
  });
  for (const name of /** @type {const} */ (['pointerup', 'pointercancel'])) {
    element.addEventListener(name, (event) => {
      const endedDrag = drag;
      const { x, y, at } = locate(event);
      drag = null;
      if (name === 'pointerup' && endedDrag && !endedDrag.moved) act.click(x, y, event.shiftKey);
      else if (name === 'pointerup' && endedDrag?.mode === 'select') {
        const span = spanBetween(snapToEdge(act.scene(), at, y), endedDrag.anchor);
        // A drag that returns to its start selects nothing.
        if (span.end_ps > span.start_ps) act.select(span);
      }
      act.preview(null);
    });
  }
  element.addEventListener('pointerleave', () => { if (!drag) act.hover(0, 0, null); });
  element.addEventListener('dblclick', (event) => {
    const { x, y } = locate(event);
    act.frame(x, y);
  });
  element.addEventListener('wheel', (event) => {
    const { scale, at } = locate(event);
    const { deltaX, deltaY } = event;
    const zooms = event.ctrlKey || event.metaKey;
    if (!zooms && !deltaX && !event.shiftKey) return;
    event.preventDefault();
    if (zooms) act.zoom(wheelZoomFactor(deltaY), at);
    else act.pan((deltaX || deltaY) * scale.psPerPx);
  }, { passive: false });
}
