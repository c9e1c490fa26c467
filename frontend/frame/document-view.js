/** Loads a view's document and draws it. */

import { fill, keepFocus, refill, rememberFocus } from '../lib/dom.js';
import { createLatestChannel, getShared } from '../lib/api.js';
import { analysisCard, errorCard } from './state-cards.js';

/** @typedef {import('../lib/api.js').Routes} Routes */
/** @typedef {import('../lib/types').Ready} Ready */

/** Shorter waits show no card. */
const CARD_AFTER_MS = 300;

/**
 * Requests a view's document once per session, when the view is first in front. The old drawing stays until the answer
 * arrives; if it is of another session, or a card, at most until the analysis card replaces it.
 * @template {keyof Routes} R
 * @param {import('./app.js').App} app @param {R} route @param {HTMLElement} element shows the document
 * @param {(answer: Routes[R], session: Ready) => 'ready'|'empty'} draw
 * @param {(session: Ready) => Record<string, any>} [moreArguments] arguments in addition to the session
 * @param {(error: Error, retry: () => void) => Node[]} [cardsOfError] shown in place of the document
 */
export function createDocumentView(
  app,
  route,
  element,
  draw,
  moreArguments,
  cardsOfError = ({ message }, retry) => [errorCard(message, retry)],
) {
  /** @type {Ready|null} */
  let session = null;
  let isShown = false;
  let isRequested = false;
  /** The session whose document the element shows; null while it shows a card or is closed. @type {Ready|null} */
  let drawn = null;
  /** @type {'ready'|'empty'} */
  let drawnState = 'ready';
  /** Shows the analysis card. @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  /** Gives the focus back to what the analysis card replaced. @type {(() => void)|undefined} */
  let restoreFocus;
  const channel = createLatestChannel(route);

  async function load() {
    const requested = session;
    if (!requested || isRequested || !isShown) return;
    isRequested = true;
    const query = { ...requested.query, ...moreArguments?.(requested) };
    /** Whether the answer is still wanted. If only the arguments have changed, requests the document again. */
    const isWanted = () => {
      if (requested !== session) return false;
      clearTimeout(timer);
      const current = { ...requested.query, ...moreArguments?.(requested) };
      if (JSON.stringify(current) === JSON.stringify(query)) return true;
      reload();
      return false;
    };
    timer = setTimeout(() => {
      if (requested !== session || drawn?.query.session === query.session) return;
      drawn = null;
      restoreFocus = rememberFocus(element);
      fill(
        element,
        analysisCard(requested, () => app.open({ v: 'timeline' })),
      );
    }, CARD_AFTER_MS);
    try {
      const answer = await (moreArguments ? channel.get(query) : getShared(route, requested.query));
      if (!isWanted()) return;
      drawn = requested;
      drawnState = keepFocus(element, () => draw(answer, requested));
      app.setState(drawnState);
      restoreFocus?.();
      restoreFocus = undefined;
    } catch (error) {
      if (!isWanted()) return;
      isRequested = false;
      drawn = null;
      const failure = /** @type {Error} */ (error);
      refill(element, ...cardsOfError(failure, load));
      app.live.announceError(failure.message);
      app.setState('error');
    }
  }

  /** Requests the document again, with the current arguments. */
  function reload() {
    clearTimeout(timer);
    isRequested = false;
    void load();
  }

  /** Whether the element shows the document of the open session. */
  const isDrawn = () => session !== null && drawn === session;

  return {
    reload,
    isDrawn,
    /**
     * Wraps an action so that it runs only if the document of the open session is drawn; after an error, requests the
     * document again instead.
     * @param {() => void} action
     */
    whenDrawn: (action) => () => {
      if (isDrawn()) action();
      else void load();
    },
    /** @param {Ready} next */
    open(next) {
      session = next;
      reload();
    },
    /** Until a session is opened again, nothing is requested, and late answers are not drawn. */
    close() { session = drawn = null; },
    /** @param {boolean} on */
    show(on) {
      isShown = on;
      // Another section of the view may have set the state.
      if (on && isDrawn()) app.setState(drawnState);
      void load();
    },
  };
}
