/**
 * The help dialog: keys, glossary, and the environment, which narrow windows do not show elsewhere. Focus stays inside
 * and returns on closing.
 */

import { h, fill, button } from '../lib/dom.js';
import { TERMS } from '../lib/terms.js';

/** @param {import('../lib/keys.js').Keys} keys @param {() => string} environment */
export function createHelp(keys, environment) {
  const body = h('div', null);
  const dialog = h('dialog', { 'data-testid': 'help-sheet', 'aria-label': 'Keys and glossary' },
    h('header', null, h('h2', null, 'Keys and glossary'), h('span', { class: 'grow' }),
      button('Close', () => dialog.close(), { 'aria-label': 'Close' })), body);
  const pointerActions = [
    ['Drag in the lanes', 'select a window'],
    ['Shift+click', 'the time from the selection to a slice'],
    ['Drag on the ruler, Shift+drag', 'pan'],
    ['Ctrl+wheel', 'zoom at the pointer'],
    ['Double click', 'frame a slice'],
  ];
  return () => {
    const items = [...keys.list().map(({ label, does }) => [label, does]), ...pointerActions];
    fill(
      body,
      h(
        'div',
        { class: 'keys' },
        items.flatMap(([label, does], index) => [
          h(
            'span',
            null,
            index < items.length - pointerActions.length
              ? label.split(' ').flatMap((key, at) => [at ? ' ' : null, h('kbd', null, key)])
              : label,
          ),
          h('span', { class: 'secondary' }, does),
        ]),
      ),
      h('p', { class: 'muted small' }, environment()),
      h('h3', null, 'Glossary'),
      h(
        'dl',
        { class: 'facts', 'data-testid': 'help-words' },
        Object.entries(TERMS).flatMap(([word, meaning]) => [h('dt', null, word), h('dd', null, meaning)]),
      ),
    );
    if (!dialog.isConnected) document.body.append(dialog);
    dialog.showModal();
  };
}
