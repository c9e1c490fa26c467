/** Entry point of a static copy: the page in one file with its answers, for one session and without a server. */

import { render } from '../index.js';
import { answerFrom } from '../lib/api.js';
import { createAnswers } from './answers.js';

/** The answers of the document, which are compressed. */
async function recordedText() {
  const { textContent } = /** @type {HTMLElement} */ (document.getElementById('answers'));
  const packed = Uint8Array.from(atob(textContent ?? ''), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).text();
}

answerFrom(createAnswers(await recordedText()));
await render(true);
