/** The last row of the timeline, which stays in place: how many hosts have no rows in it, and the way to them. */

import { fill, h } from '../lib/dom.js';
import { link } from '../lib/cards.js';
import { plural } from '../lib/format.js';
import { shortNames } from '../lib/host-names.js';

/** @typedef {import('../lib/types').Ready} Ready */

const MAX_NAMED_HOSTS = 3;

/** @param {import('../frame/app.js').App} app @param {() => number} left where the lanes begin, px */
export function createMoreHosts(app, left) {
  const element = h('div', { class: 'hosts-more none', 'data-testid': 'hosts-more' });
  return {
    element,
    /** @param {Ready} session */
    draw({ session: { hosts }, ranks }) {
      const names = hosts.map(({ name }) => name);
      const tracedHosts = app.tracedSelection().hosts;
      const more = names.length - tracedHosts.length;
      element.classList.toggle('none', !more);
      if (!more) return;
      const short = shortNames(names);
      const late = (ranks?.late ?? []).filter((at) => !tracedHosts.includes(names[at])).slice(0, MAX_NAMED_HOSTS);
      const choose = link('choose hosts', () => app.pickHosts(choose), { 'data-testid': 'hosts-choose' });
      fill(
        element,
        h('span', { style: { width: `${left() - 22}px` } }, plural(more, 'more host')),
        choose,
        late.length > 0 &&
          h(
            'span',
            { class: 'sec' },
            '· others wait next for\u00a0',
            late.flatMap((at, place) => [
              place ? ', ' : '',
              link(short[at], () => app.requestHosts([at]), { title: names[at] }),
            ]),
          ),
      );
    },
  };
}
