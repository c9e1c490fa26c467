/** Builds elements without HTML strings: text is always inserted as text. */

import { escapeInvisible } from './escapes.js';

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * `h('td', {class: 'numeric', 'data-ps': 5, onclick: f}, 'text', child)`. A key that begins with `on` is a listener,
 * `style` has properties by name; null, undefined and false attributes are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Record<string, any>|null} [attributes] @param {...(Child|Child[])} children
 */
export const h = (tag, attributes, ...children) => applyAttributes(document.createElement(tag), attributes, children);

/**
 * The same for SVG elements.
 * @param {string} tag
 * @param {Record<string, any>|null} attributes
 * @param {...(Child|Child[])} children
 */
export const svg = (tag, attributes, ...children) =>
  applyAttributes(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** A sentence of the server in parts, every second of which is emphasised. @param {string[]} parts */
export const emphasised = (parts) => parts.map((part, index) => (index % 2 ? h('b', null, part) : part));

/** Arguments of a call are on the stack, and a hundred thousand overflow it. */
const MAX_APPENDED_AT_ONCE = 10_000;
const TEXT_ATTRIBUTES = new Set(['title', 'aria-label']);

/**
 * @template {HTMLElement|SVGElement} E
 * @param {E} element
 * @param {Record<string, any>|null|undefined} attributes
 * @param {(Child|Child[])[]} children
 */
function applyAttributes(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name === 'style') for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else {
      const text = value === true ? '' : String(value);
      element.setAttribute(name, TEXT_ATTRIBUTES.has(name) ? escapeInvisible(text) : text);
    }
  }
  append(element, children);
  return element;
}

/** @param {(Child|Child[])[]} children @returns {(Node|string)[]} */
function visibleChildren(children) {
  return children.flat().filter((child) => child != null && child !== false)
    .map((child) => (child instanceof Node ? child : escapeInvisible(String(child))));
}

/** @param {Element} element @param {(Child|Child[])[]} children */
function append(element, children) {
  const nodes = visibleChildren(children);
  for (let at = 0; at < nodes.length; at += MAX_APPENDED_AT_ONCE) {
    element.append(...nodes.slice(at, at + MAX_APPENDED_AT_ONCE));
  }
}

/** Replaces what an element contains. @param {Element} element @param {...(Child|Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Draws the content of an element. If that takes the focus from something in it, its successor with the same test id
 * gets the focus.
 * @template T
 * @param {Element} element
 * @param {() => T} draw
 */
export function keepFocus(element, draw) {
  const restore = rememberFocus(element);
  const result = draw();
  restore();
  return result;
}

/**
 * The function that gives the focus to the successor, with the same test id, of what has it now in an element; nothing
 * if it is elsewhere by then, other than on the panel of views.
 * @param {Element} element
 */
export function rememberFocus(element) {
  const active = document.activeElement;
  const id = element.contains(active) ? active?.getAttribute('data-testid') : null;
  return () => {
    const isLost = document.activeElement === document.body || document.activeElement?.matches('[role=tabpanel]');
    if (!id || !isLost) return;
    const candidates = /** @type {HTMLElement[]} */ ([...element.querySelectorAll('[data-testid]')]);
    candidates.find(({ dataset }) => dataset.testid === id)?.focus({ preventScroll: true });
  };
}

/** `fill` that keeps the focus. @param {Element} element @param {...(Child|Child[])} children */
export const refill = (element, ...children) => keepFocus(element, () => fill(element, ...children));

/**
 * A button whose clicks do not reach a clickable row around it.
 * @param {Child|Child[]} label
 * @param {() => void} action
 * @param {Record<string, any>} [attributes]
 * @param {...Child} more
 */
export const button = (label, action, attributes, ...more) =>
  h(
    'button',
    {
      type: 'button',
      ...attributes,
      onclick: (/** @type {Event} */ event) => {
        event.stopPropagation();
        action();
      },
    },
    label,
    ...more,
  );

/**
 * A select with its label before it.
 * @param {string} label
 * @param {(string|[value: string, text: string])[]} choices a string is the value as well as the text
 * @param {string|undefined} value
 * @param {(value: string) => void} onChange @param {string} [testid]
 */
export function labelledSelect(label, choices, value, onChange, testid) {
  const select = h('select', { 'data-testid': testid, 'aria-label': label, onchange: () => onChange(select.value) });
  setOptions(select, choices, value);
  return h('span', { class: 'pick', title: label }, h('span', null, label), select);
}

/**
 * The choices of a filter, with its value even if the choices lack it: the rows are filtered by it all the same.
 * @param {[value: string, text: string][]} choices
 * @param {string|null|undefined} value
 * @returns {[value: string, text: string][]}
 */
export const withValue = (choices, value) =>
  !value || choices.some(([choice]) => choice === value) ? choices : [...choices, [value, value]];

/**
 * Replaces the options of a select and chooses one, the first if the value is not among them.
 * @param {HTMLSelectElement} select
 * @param {(string|[value: string, text: string])[]} choices
 * @param {string|undefined} value
 */
export function setOptions(select, choices, value) {
  fill(select, choices.map((choice) => {
    const [optionValue, text = optionValue] = [choice].flat();
    return h('option', { value: optionValue }, text);
  }));
  select.value = value ?? '';
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

/**
 * Binds keys to an element and the elements in it that match a selector; listeners of their ancestors
 * do not get these events.
 * @template {HTMLElement} T
 * @param {Element} element
 * @param {string} selector of the event's target
 * @param {Record<string, (target: T) => void>} keys actions by `event.key`
 */
export function onKeys(element, selector, keys) {
  element.addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, altKey, metaKey } = /** @type {KeyboardEvent & {target: T}} */ (event);
    if (ctrlKey || altKey || metaKey || !keys[key] || !target.matches(selector)) return;
    keys[key](target);
    event.preventDefault();
    event.stopPropagation();
  });
}

/**
 * Follows the pointer from a press on the element, also beyond it, until the release.
 * @param {HTMLElement} element
 * @param {(event: PointerEvent) => ((event: PointerEvent) => void)|null} begin returns the handler of the moves, or
 *   null to ignore the press
 */
export function onDrag(element, begin) {
  element.addEventListener('pointerdown', (event) => {
    element.onpointermove = begin(event);
    if (element.onpointermove) element.setPointerCapture(event.pointerId);
  });
  element.onpointerup = element.onpointercancel = () => { element.onpointermove = null; };
}

/** A share from 0 to 1 as a CSS length. @param {number} share */
export const percent = (share) => `${share * 100}%`;

/** Whether an element uses letters and arrow keys itself: text fields and selects. @param {EventTarget|null} target */
export const usesKeys = (target) =>
  target instanceof Element && target.matches('input:not([type=checkbox]), select, textarea');
