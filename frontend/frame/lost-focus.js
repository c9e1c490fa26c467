/** Keeps the focus in the page if the focused element is removed: a button of a view that is left, a removed filter. */

const CONTROLS = 'button:not(:disabled), select, input, tr[tabindex="0"], [role=option][tabindex="0"]';
/** Controls in which the keys of views do nothing, or something else. */
const FIELDS = 'select, input';

/**
 * Once the element that got the focus by keyboard is removed and nothing else has the focus, focuses the first control
 * of the nearest element around it that is still shown, such as its card; the panel of views if the view was left or
 * drawn anew, or after the last one of the header's notes.
 */
export function bindLostFocus() {
  /** The element that last got the focus by keyboard, and its ancestors. @type {HTMLElement[]} */
  let path = [];
  addEventListener('focusin', (event) => {
    path = event.composedPath().filter((element) => element instanceof HTMLElement);
    if (!path[0]?.matches(':focus-visible')) path = [];
  });
  // A press elsewhere removes the focus, by the user's choice.
  addEventListener('pointerdown', () => { path = []; });

  new MutationObserver(() => {
    if (!path.length || path[0].isConnected || document.activeElement !== document.body) return;
    const panel = document.querySelector('[role=tabpanel]');
    /** @type {HTMLElement|null|undefined} */
    let around = path.find((element) => element.isConnected);
    /** @type {HTMLElement|undefined} */
    let control;
    const isEnd = () => around?.contains(panel) || around?.parentElement === panel || around?.matches('.header');
    for (; around && !control && !isEnd(); around = around.parentElement) control = firstControl(around);
    (control ?? /** @type {HTMLElement|null} */ (panel))?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

/** @param {HTMLElement} element */
function firstControl(element) {
  const controls = /** @type {HTMLElement[]} */ ([...element.querySelectorAll(CONTROLS)]);
  const visible = controls.filter((control) => control.checkVisibility());
  return visible.find((control) => !control.matches(FIELDS)) ?? visible[0];
}
