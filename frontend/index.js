/** Entry point of the page: TensorBoard loads this module into an empty iframe and calls `render()`. */

import { h } from './lib/dom.js';
import { idle } from './lib/activity.js';
import { bindPlainCopy } from './lib/plain-digits.js';
import { followTheme } from './lib/theme.js';
import { createApp } from './frame/app.js';
import { bindLostFocus } from './frame/lost-focus.js';

/** @returns {Promise<void>} resolves once the style sheet is loaded, or has failed to load */
function loadStyles() {
  return new Promise((resolve) => {
    const done = () => resolve();
    document.head.append(h('link', {
      rel: 'stylesheet', href: new URL('./index.css', import.meta.url).href, onload: done, onerror: done }));
  });
}

/** @param {boolean} [isCopy] whether the document is a static copy, with styles and answers */
export async function render(isCopy = false) {
  // Tests read what is drawn, and wait for it.
  Object.assign(window, { xi: { drawn: null, idle } });
  document.documentElement.lang = 'en';
  document.title = 'XLA Insights';
  bindPlainCopy();
  bindLostFocus();
  const stylesLoaded = isCopy ? null : loadStyles();
  /** @type {{app?: ReturnType<typeof createApp>}} */
  const page = {};
  followTheme(() => page.app?.recolor());
  await stylesLoaded;
  const app = createApp(isCopy);
  page.app = app;
  // The iframe starts without focus, and keys reach only a focused iframe.
  window.focus();
  await app.start();
}
