/** The Device view's verdict: what the device is busy with, how efficiently, and four figures. */

import { emphasised, h } from '../lib/dom.js';
import { headlineTime, MISSING, plural, share } from '../lib/format.js';
import { divisor } from './rows.js';

/** @typedef {import('../lib/routes').DeviceAnswer} DeviceAnswer */

/** @param {DeviceAnswer} document @param {string} coverage the hosts covered; empty for all */
export function verdictBlock(document, coverage) {
  const { total: sums, cores, chosen } = document;
  const ps = sums.self_ps / divisor(document);
  const core = cores > 1 ? `, per core${coverage ? ' of these hosts' : ''}` : '';
  const steps =
    chosen.steps === 'all'
      ? 'the session'
      : chosen.steps === 'mean'
        ? `mean of ${plural(document.whole_steps, 'step')}`
        : 'one step';
  /**
   * @param {string} name @param {string} value @param {string} meaning
   * @param {{ps?: number, title?: string}} [options]
   */
  const figure = (name, value, meaning, options) =>
    h(
      'div',
      { 'data-testid': `kpi-${name}`, title: options?.title },
      h('dd', { 'data-ps': options?.ps }, value),
      h('dt', null, meaning),
    );
  return h(
    'section',
    { class: 'verdict across', 'aria-label': 'Verdict' },
    h(
      'div',
      { 'data-testid': 'device-verdict' },
      h('p', null, emphasised(document.verdict.text)),
      coverage && h('p', { class: 'small secondary', 'data-testid': 'device-hosts' }, coverage),
    ),
    h(
      'dl',
      { class: 'figures' },
      figure(
        'work',
        headlineTime(ps),
        `${document.chosen.category ?? 'op time'}, ${steps}${core}`,
        { ps: Math.round(ps) },
      ),
      figure('mfu', share(sums.mfu), 'of peak FLOP/s (MFU) in this time', {
        title: 'MFU: the FLOPs of the program as a share of what the device could compute in this time',
      }),
      figure('hbm', share(sums.bytes_share), 'of HBM bandwidth in this time'),
      figure(
        'counted',
        sums.self_ps ? share(sums.flops_known_ps / sums.self_ps) : MISSING,
        'of this time with a FLOP count',
      ),
    ),
  );
}
