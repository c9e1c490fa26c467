/** The pointer on the lanes: drag selects, on the ruler or with Shift it pans, wheel with Ctrl zooms, double click frames. */

import { RULER } from './ruler.js';

/** @typedef {import('./scale.js').Span} Span */
/**
 * @typedef {object} PointerActions
 * @property {() => import('./scene.js').Scene} scene
 * @property {() => Span|null} grips the selected window, whose edges can be dragged
 * @property {(span: Span|null) => void} preview
 * @property {(span: Span) => void} select
 * @property {(by_ps: number) => void} pan
 * @property {(factor: number, at_ps: number) => void} zoom
 * @property {(x: number, y: number) => void} click
 * @property {(x: number, y: number) => void} frame
 * @property {(x: number, y: number, event: PointerEvent|null) => void} hover null: the pointer has left
 */

const DRAG_PX = 4;
const GRIP_PX = 5;
const ZOOM_STEP = 1.5;

/** @param {HTMLElement} element @param {PointerActions} act */
export function followPointer(element, act) {
  /** @type {{x: number, y: number, mode: 'select'|'pan'|'grip', at: number, moved: boolean, other: number}|null} */
  let drag = null;

  const place = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  /** The far edge of the selected window when the pointer is on one of its edges. @param {number} x */
  const gripAt = (x) => {
    const span = act.grips();
    const { scale } = act.scene();
    if (!span) return null;
    if (Math.abs(scale.x(span.start_ps) - x) <= GRIP_PX) return span.end_ps;
    return Math.abs(scale.x(span.end_ps) - x) <= GRIP_PX ? span.start_ps : null;
  };
  /** @param {number} x @param {number} other @returns {Span} */
  const spanTo = (x, other) => {
    const { scale } = act.scene();
    const at = scale.ps(Math.min(scale.right, Math.max(scale.left, x)));
    return { start_ps: Math.min(at, other), end_ps: Math.max(at, other) };
  };

  element.addEventListener('pointerdown', (event) => {
    const { x, y } = place(event);
    const { scale } = act.scene();
    if (event.button !== 0 || x > element.clientWidth) return;
    const far = x >= scale.left ? gripAt(x) : null;
    const mode = y < RULER || event.shiftKey ? 'pan' : far !== null ? 'grip' : 'select';
    drag = { x, y, mode, at: scale.ps(x), moved: false, other: far ?? scale.ps(x) };
    if (x >= scale.left) element.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', (event) => {
    const { x, y } = place(event);
    const { scale } = act.scene();
    if (!drag) {
      element.style.cursor = x < scale.left ? '' : y < RULER ? 'grab' : gripAt(x) !== null ? 'ew-resize' : '';
      act.hover(x, y, event);
      return;
    }
    if (!drag.moved && Math.abs(x - drag.x) < DRAG_PX) return;
    if (drag.x < scale.left) return;
    drag.moved = true;
    act.hover(x, y, null);
    if (drag.mode === 'pan') act.pan(drag.at - scale.ps(x));
    else act.preview(spanTo(x, drag.other));
  });
  element.addEventListener('pointerup', (event) => {
    const own = drag;
    drag = null;
    if (!own) return;
    const { x, y } = place(event);
    if (!own.moved) act.click(x, y);
    else if (own.mode !== 'pan') act.select(spanTo(x, own.other));
    act.preview(null);
  });
  element.addEventListener('pointercancel', () => {
    drag = null;
    act.preview(null);
  });
  element.addEventListener('pointerleave', () => { if (!drag) act.hover(0, 0, null); });
  element.addEventListener('dblclick', (event) => {
    const { x, y } = place(event);
    act.frame(x, y);
  });
  element.addEventListener('wheel', (event) => {
    const { scale } = act.scene();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const { x } = place(event);
      act.zoom(event.deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, scale.ps(Math.max(scale.left, x)));
    } else if (event.deltaX || event.shiftKey) {
      event.preventDefault();
      act.pan((event.deltaX || event.deltaY) * scale.psPerPx);
    }
  }, { passive: false });
}
