/** The fixed last row of the timeline: the number of hosts without rows, and links to choose hosts. */

import { fill, h } from '../lib/dom.js';
import { link } from '../lib/cards.js';
import { plural } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';

/** @typedef {import('../lib/types').Ready} Ready */

const MAX_NAMED_HOSTS = 3;
/** As in the rule for `.hosts-more` in styles.css. */
const PADDING_LEFT_PX = 22;

/** @param {import('../frame/app.js').App} app @param {() => number} left where the lanes begin, px */
export function createMoreHosts(app, left) {
  const element = h('div', { class: 'hosts-more hidden', 'data-testid': 'hosts-more' });
  return {
    element,
    /** @param {Ready} session */
    draw({ session: { hosts }, ranks }) {
      const names = hosts.map(({ name }) => name);
      const tracedHosts = app.tracedSelection().hosts;
      const hiddenCount = names.length - tracedHosts.length;
      element.classList.toggle('hidden', !hiddenCount);
      if (!hiddenCount) return;
      const short = shortNames(names);
      const late = (ranks?.late ?? []).filter((at) => !tracedHosts.includes(names[at])).slice(0, MAX_NAMED_HOSTS);
      const choose = link('choose hosts', () => app.pickHosts(choose), { 'data-testid': 'hosts-choose' });
      fill(
        element,
        h('span', { style: { width: `${left() - PADDING_LEFT_PX}px` } }, plural(hiddenCount, 'more host')),
        choose,
        late.length > 0 &&
          h(
            'span',
            { class: 'secondary' },
            '· others also wait for\u00a0',
            late.flatMap((at, position) => [
              position ? ', ' : '',
              link(short[at], () => app.requestHosts([at]), { title: names[at] }),
            ]),
          ),
      );
    },
  };
}
