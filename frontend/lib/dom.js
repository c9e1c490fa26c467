/** Elements without HTML strings: text always goes in as text. */

import { escapeInvisible } from './escapes.js';

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * `h('td', {class: 'num', 'data-ps': 5, onclick: f}, 'text', child)`. A key that begins with `on` is a listener,
 * `style` has properties by name; null, undefined and false attributes are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Record<string, any>|null} [attributes] @param {...(Child|Child[])} children
 */
export const h = (tag, attributes, ...children) => applyAttributes(document.createElement(tag), attributes, children);

/**
 * The same for what pictures are made of.
 * @param {string} tag
 * @param {Record<string, any>|null} attributes
 * @param {...(Child|Child[])} children
 */
export const svg = (tag, attributes, ...children) =>
  applyAttributes(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const AT_ONCE = 10_000;
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

/**
 * In parts: the arguments of a call lie on the stack, which has no room for a hundred thousand.
 * @param {Element} element
 * @param {(Child|Child[])[]} children
 */
function append(element, children) {
  const all = visibleChildren(children);
  for (let at = 0; at < all.length; at += AT_ONCE) element.append(...all.slice(at, at + AT_ONCE));
}

/** Replaces what an element contains. @param {Element} element @param {...(Child|Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * The same; what has the focus there gives it to what comes in its place, by its test id.
 * @param {Element} element
 * @param {...(Child|Child[])} children
 */
export function refill(element, ...children) {
  const id = element.contains(document.activeElement) ? document.activeElement?.getAttribute('data-testid') : null;
  fill(element, ...children);
  if (id) /** @type {HTMLElement|null} */ (element.querySelector(`[data-testid="${id}"]`))?.focus();
}

/**
 * A button, also within a row that is clicked.
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
 * One of many, with its name before it.
 * @param {string} label
 * @param {(string|[value: string, text: string])[]} choices one text that is the value as well, or both
 * @param {string|undefined} value
 * @param {(value: string) => void} chosen @param {string} [testid]
 */
export function labelledSelect(label, choices, value, chosen, testid) {
  const select = h('select', { 'data-testid': testid, 'aria-label': label, onchange: () => chosen(select.value) });
  setOptions(select, choices, value);
  return h('span', { class: 'pick', title: label }, h('span', null, label), select);
}

/**
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
 * What keys do on an element, or on some of those within; nobody else hears of them.
 * @template {HTMLElement} T
 * @param {Element} element
 * @param {string} selector
 * @param {Record<string, (target: T) => void>} keys by `event.key`
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
 * Follows the pointer from where it is pressed, also beyond the element, until it is let go.
 * @param {HTMLElement} element
 * @param {(event: PointerEvent) => ((event: PointerEvent) => void)|null} begin answers what each move does; null for
 *   nothing
 */
export function onDrag(element, begin) {
  element.addEventListener('pointerdown', (event) => {
    element.onpointermove = begin(event);
    if (element.onpointermove) element.setPointerCapture(event.pointerId);
  });
  element.onpointerup = element.onpointercancel = () => { element.onpointermove = null; };
}

/** A part from 0 to 1 as a length of a style. @param {number} part */
export const percent = (part) => `${part * 100}%`;

/** Whether keys now belong to a field. @param {EventTarget|null} target */
export const isTextField = (target) =>
  target instanceof Element && target.matches('input:not([type=checkbox]), select, textarea');
