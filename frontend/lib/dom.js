/** Elements without HTML strings: text always goes in as text. */

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * `h('td', {class: 'num', 'data-ps': 5, onclick: f}, 'text', child)`. A key that begins with `on` is a listener; null,
 * undefined and false attributes are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Record<string, any>|null} [attributes] @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...present(children));
  return element;
}

/** @param {(Child|Child[])[]} children @returns {(Node|string)[]} */
function present(children) {
  return children.flat().filter((child) => child != null && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Replaces what an element contains. @param {Element} element @param {...(Child|Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/** @param {string} label @param {() => void} action @param {Record<string, any>} [attributes] @param {...Child} more */
export function button(label, action, attributes = {}, ...more) {
  return h('button', { type: 'button', onclick: action, ...attributes }, label, ...more);
}

/** Whether keys now belong to a field. @param {EventTarget|null} target */
export function typing(target) {
  return target instanceof HTMLInputElement && target.type !== 'checkbox'
    || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
