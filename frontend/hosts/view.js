/** Hosts: which host holds up the others, and why. */

import { button, fill, h, pick } from '../lib/dom.js';
import { card, windowPlace } from '../lib/cards.js';
import { legend, chip } from '../lib/classes.js';
import { count, digits, plural, timeText } from '../lib/format.js';
import { get } from '../lib/api.js';
import { exportButton } from '../lib/csv.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { findHosts, hostsText } from '../lib/hosts.js';
import { countColumn, linkedOrder, liveTable, timeColumn } from '../lib/table.js';
import { UNITS } from '../lib/format.js';
import { loadOnce } from '../frame/once.js';
import { CSV_HEADS, DEVICE, csvRows, hostRows, longestClass, stepKey, stepName, stepUs, stepsOfLink } from './data.js';
import { differenceCard } from './difference.js';
import { createHeat } from './heat.js';
import { heatRows, percentile } from './layout.js';
import { hostsTable, waitTexts } from './table.js';
import { classLabel, rangeName, US, verdictBlock } from './verdict.js';

/** @typedef {import('./types').HostsDocument} HostsDocument */
/** @typedef {import('./types').HostRow} HostRow */
/** @typedef {import('./types').HostSteps} HostSteps */
/** @typedef {import('./types').StepRange} StepRange */

/** Lateness below this part of a step is no news: the scale does not blow it up. */
const LEAST_SCALE = 0.01;

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function hostsView(app) {
  const element = h('div', { class: 'cards hosts-view' });
  const verdict = h('div', { class: 'across' });
  const aside = h('div', { class: 'fill' });
  const legendPlace = h('div', null);
  const heatBody = h('div', { class: 'fill' });
  const list = h('div', { class: 'fill' });
  const heading = h('small', { 'data-testid': 'hosts-count' });
  const search = h('input', { type: 'search', placeholder: 'name, number or range', 'aria-label': 'Find hosts', 'data-testid': 'hosts-search', spellcheck: 'false' });
  /** @type {HostsDocument} */
  let answer;
  /** @type {import('../lib/types').Ready} */
  let session;
  /** Of the steps that are chosen. @type {HostRow[]} */
  let rows = [];
  /** What hosts did in each step, as far as it was asked for. @type {Map<number, HostSteps>} */
  let known = new Map();
  let opened = false;
  let listed = false;
  /** @type {ReturnType<typeof liveTable>|null} */
  let shown = null;

  const heat = createHeat({
    cell: (host, step) => choose(host, [step, step]),
    host: (host) => choose(host, range(), wide()),
    steps: (from, to) => choose(host(), [from, to], true),
    open: (at, step) => void timeline(at, step),
    words: tooltip,
  });

  /** Steps of the link: one that a cell selected, or some for all hosts. */
  const range = () => stepsOfLink(answer.steps, app.link.state.st);
  /** Whether table and verdict follow the steps: they do not for one cell. */
  const wide = () => Boolean(app.link.state.st?.includes('-'));
  /** Who is selected: the link's, or the one of the verdict. */
  function host() {
    const at = answer.hosts.name.indexOf(app.link.state.hs ?? '');
    return at >= 0 ? at : usual();
  }
  const usual = () => answer.verdict.hosts[0] ?? answer.order[0] ?? 0;
  const arrival = () => answer.state === 'compared' && app.link.state.hm !== 'step';

  /** @param {number} at @param {StepRange|null} steps @param {boolean} [forAll] */
  function choose(at, steps, forAll = false) {
    const keys = steps?.map((step) => stepKey(answer.steps, step));
    app.link.set({ hs: at === usual() ? '' : answer.hosts.name[at], st: !keys ? '' : forAll ? keys.join('-') : keys[0] }, 'push');
    follow();
    const { name } = rows[at];
    app.live.answer(steps ? (steps[0] === steps[1] ? [name, ...tooltip(at, steps[0]).slice(1)].join(', ') : `${name}, ${rangeName(answer.steps, steps)}.`) : `${name}.`);
  }

  /** Draws what depends on what is selected. */
  function follow() {
    const steps = range();
    rows = hostRows(answer, wide() ? steps : null);
    fill(verdict, verdictBlock(answer, rows, wide() ? steps : null, app.capture()));
    drawHeat();
    drawDifference();
    drawList();
  }

  function drawDifference() {
    const [at, steps] = [host(), range()];
    const own = answer.step_class_us[at] ?? known.get(at)?.step_class_us ?? null;
    fill(aside, differenceCard(answer, rows, at, steps, own, {
      choose: (other) => choose(other, steps, wide()), timeline: () => void timeline(at, steps?.[0], steps?.[1]),
      worst: () => choose(at, [answer.hosts.worst_step[at], answer.hosts.worst_step[at]]),
    }));
    if (steps && !own) void stepsOf(at).then(() => { if (at === host()) drawDifference(); }, (error) => app.fail('host-steps', error));
  }

  /** @param {number} at */
  async function stepsOf(at) {
    const [own, name] = [session, answer.hosts.name[at]];
    const found = known.get(at) ?? await get('hosts', { session: own.session.name, host: name });
    if (own === session) known.set(at, found);
    return /** @type {HostSteps} */ (found);
  }

  /** Shows a host and the median one in the timeline: a step, steps from – to, or all. @param {number} at @param {number} [from] @param {number} [to] */
  async function timeline(at, from, to = from) {
    const both = [...new Set([at, answer.median_host ?? at])];
    const names = hostsText(both, answer.hosts.name);
    if (from === undefined || to === undefined) return app.open({ v: 'timeline', h: names, w: '', sel: '' });
    try {
      const found = await Promise.all(both.map(stepsOf));
      const starts = found.flatMap(({ start_ps }) => start_ps.slice(from, to + 1).flatMap((ps) => ps ?? []));
      const ends = found.flatMap(({ start_ps, duration_ps }) => start_ps.flatMap((ps, step) => (ps === null || step < from || step > to ? [] : ps + (duration_ps[step] ?? 0))));
      app.open({ ...(starts.length ? windowPlace(Math.min(...starts), Math.max(...ends)) : { v: 'timeline' }), h: names, st: stepKey(answer.steps, from) });
    } catch (error) {
      app.fail('host-steps', error);
    }
  }

  /** µs late, or of a step; null: not known. @param {number} at @param {number} step */
  function valueOf(at, step) {
    if (!arrival()) return stepUs(answer, at, step);
    const late = answer.late_us[at]?.[step] ?? -1;
    return late < 0 ? null : late;
  }

  /** The class by which a host is later than the median one in a step. @param {number} at @param {number} step */
  function causeOf(at, step) {
    const steps = answer.step_class_us;
    return longestClass(answer.classes, (steps[at] ?? known.get(at)?.step_class_us)?.[step], steps[answer.median_host ?? -1]?.[step]);
  }

  /** @param {number} at @param {number} step */
  function tooltip(at, step) {
    const [late, length] = [answer.late_us[at]?.[step] ?? -1, stepUs(answer, at, step)];
    const last = answer.steps.last[step] === at;
    const cause = last ? causeOf(at, step) : null;
    return [`${rows[at].name}, step ${stepName(answer.steps, step)}`, late < 0 ? '' : late ? `${timeText(late * US)} late` : 'not late', last ? 'last to arrive' : '',
      cause ? `${classLabel(cause)} takes longest against the median host` : '', length === null ? 'no such step' : `step ${timeText(length * US)}`].filter(Boolean);
  }

  function drawHeat() {
    const { hosts, order, steps } = answer;
    const late = order.filter((at) => hosts.named[at]);
    const named = arrival() || late.length ? late : [];
    const thin = order.filter((at) => !named.includes(at));
    const { rows: heatmap, top, each, bottom } = heatRows(named, thin);
    const counted = arrival();
    const values = counted ? steps.last.flatMap((at, step) => (at >= 0 ? Math.max(0, valueOf(at, step) ?? 0) : [])) : hosts.name.flatMap((_, at) => steps.number.flatMap((__, step) => valueOf(at, step) ?? []));
    const to = counted ? Math.max(percentile(values), LEAST_SCALE * (answer.figures.step_ps ?? 0) / US) : percentile(values);
    const from = counted ? 0 : Math.min(to, percentile(values, 0.05));
    const waits = waitTexts(rows);
    const all = steps.number.length;
    const lastOf = (/** @type {number} */ at) => `last in ${count(rows[at].last_steps)} of ${count(wide() ? rows[at].steps : all)}`;
    const ownLate = Math.max(0, ...thin.map((at) => hosts.late_us[at] ?? 0));
    const thinLast = thin.reduce((sum, at) => sum + rows[at].last_steps, 0);
    heat.set({
      rows: heatmap, top, bottom, step: (step) => stepName(steps, step), arrival: counted, value: valueOf, from, to, last: counted ? steps.last : steps.last.map(() => -1), clear: steps.clear,
      number: (at) => (Number.isNaN(rows[at].number) ? rows[at].short : String(rows[at].number)), cause: causeOf, blamed: answer.verdict.hosts,
      words: (at) => [rows[at].name, counted ? lastOf(at) : rows[at].step_us === null ? '' : `median ${timeText((rows[at].step_us ?? 0) * US, 1)}`],
      others: [named.length ? `${plural(thin.length, 'other host')}` : plural(thin.length, 'host'), ...(counted && thinLast ? [`last in ${count(thinLast)} of ${count(all)}`, ownLate ? `≤\u202f${timeText(ownLate * US, 1)} late` : ''] : []),
        each > 1 ? `each row ${each} hosts` : ''].filter(Boolean),
      waits: ({ hosts: own }) => waits.sum(own.map((at) => rows[at])), othersWait: waits.known ? waits.sum(thin.map((at) => rows[at])) : '', waitsHead: waits.known ? `waits, ${waits.unit.name}` : '',
    }, steps.number.map((_, step) => Math.max(0, ...hosts.name.map((__, at) => valueOf(at, step) ?? 0))),
    ({ hosts: own }) => own.map((at) => `${rows[at].name}, ${counted ? `${lastOf(at)} steps, the others wait ${waits.sum([rows[at]])}\u202f${waits.unit.name}` : `median step ${timeText((rows[at].step_us ?? 0) * US)}`}`).join('; '));
    heat.mark({ host: host(), range: range() });
    drawLegend(named, from, to, thin.length > 0);
  }

  /** @param {number[]} named @param {number} from @param {number} to @param {boolean} thin */
  function drawLegend(named, from, to, thin) {
    const counted = arrival();
    const causes = counted ? [...new Set(answer.steps.last.flatMap((at, step) => (named.includes(at) ? [causeOf(at, step) ?? ''] : [])))] : [];
    const scale = h('span', { class: 'tones', 'aria-hidden': 'true' });
    const ends = counted ? ['0', `${timeText(to * US, to < 1000 ? 3 : to < 10_000 ? 1 : 0)} late`] : [digits(from / 1000, 1), timeText(to * US, 1)];
    fill(legendPlace, legend([
      ...causes.map((name) => [name === DEVICE ? chip('dev-coll') : name ? chip(`c-${name}`, `k-${name}`) : chip('dev'), `last, ${name ? classLabel(name) : 'no class longer'}`]),
      ...(counted && named.length ? [[chip('dev-2'), 'not last']] : []), ...(counted && thin ? [[chip('dev'), named.length ? 'last, in a thin row' : 'last']] : []),
      [counted ? (named.length ? (thin ? 'height, or tone in thin rows:' : 'height:') : 'tone:') : 'step time:', ` ${ends[0]} `, scale, ` ${ends[1]}`],
    ]));
  }

  /** @param {string} key @param {string} value */
  function setFilter(key, value) {
    const filters = filtersValue(app.link.state.f);
    filters.set(key, value);
    app.link.set({ f: filtersText(filters) }, 'push');
    drawList(true);
  }

  function drawList(say = false) {
    const { state } = app.link;
    const filters = filtersValue(state.f);
    const [last, name] = [filters.get('last'), filters.get('class')];
    const places = findHosts(state.q ?? '', answer.hosts.name);
    const filtered = Boolean(state.q?.trim() || last || name);
    const ranked = range() && wide() ? [...answer.order].sort((a, b) => (rows[b].waits_us ?? 0) - (rows[a].waits_us ?? 0)) : answer.order;
    const found = ranked.map((at) => rows[at]).filter((row) => places.includes(row.at) && (!last || Boolean(row.last) === (last === '1')) && (!name || row.differs === name));
    shown = hostsTable(found, ranked.map((at) => rows[at]), {
      opened, filtered, chosen: host(), partial: answer.read.hosts < answer.read.of,
      toggle: () => {
        opened = !opened;
        drawList();
        /** @type {HTMLElement|null} */ (list.querySelector('[data-testid=host-rest] button'))?.focus();
      },
      select: (row) => choose(row.at, range(), wide()), open: (row) => void timeline(row.at, range()?.[0], range()?.[1]),
      order: linkedOrder(app.link, answer.state === 'compared' ? '-waits' : 'host'),
    });
    const focused = list.contains(document.activeElement) && list.querySelector('tr:focus') !== null;
    fill(list, shown.element);
    if (focused) /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
    const number = filtered ? `${count(found.length)} of ${count(rows.length)}` : count(rows.length);
    heading.textContent = `${number}${answer.state === 'compared' ? ', by how long the others wait for them' : ''}${wide() && range() ? `, in ${rangeName(answer.steps, /** @type {StepRange} */ (range()))}; duty cycle, differences and clocks of all steps` : ''}`;
    if (say) app.live.say(`${number} hosts.`);
  }

  function heatCard() {
    const measures = ['arrival', 'step time'].map((label, index) => button(label, () => {
      app.link.set({ hm: index ? 'step' : '' }, 'push');
      draw();
      /** @type {HTMLElement|null} */ (element.querySelector('[data-testid=heat-measure] [aria-pressed=true]'))?.focus();
    }, { 'aria-pressed': String(Boolean(index) !== arrival()) }));
    const toggle = button('Table', () => {
      listed = !listed;
      toggle.setAttribute('aria-pressed', String(listed));
      drawHeatBody();
    }, { class: 'small-button', 'aria-pressed': String(listed), 'data-testid': 'heat-as-table' });
    const more = answer.state === 'compared' ? h('span', { class: 'segments', role: 'group', 'aria-label': 'What is shown', 'data-testid': 'heat-measure' }, measures) : null;
    drawHeatBody();
    const whole = card(answer.state === 'compared' ? 'Who holds up the others' : 'Steps of all hosts', {
      note: arrival() ? `arrival at the ${answer.kind ?? 'collective'}, after the median host` : 'time of each step', right: [toggle, more], class: 'heat-card' }, heatBody);
    whole.dataset.testid = 'hosts-heat';
    return whole;
  }

  function drawHeatBody() {
    fill(heatBody, ...(listed ? [stepsTable()] : [heat.element, legendPlace]));
  }

  /** The heat map's steps as rows. */
  function stepsTable() {
    const { steps, charges, state } = answer;
    const items = steps.number.map((_, step) => {
      const places = [...charges.step.keys()].filter((at) => charges.step[at] === step);
      const last = state === 'compared' ? steps.last[step] : -1;
      return { step, last, late: last < 0 ? null : (answer.late_us[last]?.[step] ?? 0) * US, waits: state === 'compared' ? places.reduce((sum, at) => sum + charges.waits_us[at], 0) * US : null, us: steps.step_us[step] * US };
    });
    return h('div', { class: 'heat-table fill' }, liveTable({
      label: 'Steps of all hosts', testid: 'heat-table', items, sort: 'step', select: ({ step }) => choose(host(), [step, step], true), open: ({ step }) => void timeline(host(), step),
      selected: ({ step }) => range()?.[0] === step,
      columns: [
        countColumn('Step', ({ step }) => step, { key: 'step', cell: ({ step }) => stepName(steps, step) }), timeColumn('Step, median', UNITS.ms, 'us'),
        ...(state === 'compared' ? [
          { key: 'last', head: 'Last to arrive', value: (/** @type {typeof items[number]} */ { last }) => last, cell: (/** @type {typeof items[number]} */ { last, step }) => (last < 0 ? 'nobody' : [rows[last].name, steps.clear[step] ? '' : h('span', { class: 'muted' }, ' by chance')].flat()) },
          timeColumn('Late', UNITS.ms, (/** @type {typeof items[number]} */ { late }) => late), timeColumn('Others wait', UNITS.ms, (/** @type {typeof items[number]} */ { waits }) => waits)] : []),
      ],
    }).element);
  }

  function draw() {
    const several = answer.hosts.name.length > 1;
    const filters = filtersValue(app.link.state.f);
    search.value = app.link.state.q ?? '';
    const classes = [...new Set(answer.hosts.differs.flatMap((name) => name ?? []))];
    const table = card('Hosts', { note: heading, class: 'across hosts-card', right: several ? [
      h('span', { class: 'field' }, search, h('kbd', null, '/')),
      pick('last', [['', 'any'], ['1', 'at least once'], ['0', 'never']], filters.get('last'), (value) => setFilter('last', value), 'filter-last'),
      pick('class', [['', 'any'], ...classes.map((name) => /** @type {[string, string]} */ ([name, classLabel(name)]))], filters.get('class'), (value) => setFilter('class', value), 'filter-class'),
      exportButton(`${session.session.name.replace(/\W+/g, '_')}_hosts`, CSV_HEADS, () => csvRows(answer)),
    ] : null }, list);
    rows = hostRows(answer, null);
    fill(element, verdict, ...(several && answer.steps.number.length ? [heatCard(), aside] : [coresCard()]), table);
    follow();
    return /** @type {'ready'} */ ('ready');
  }

  /** A session of one host has only its cores to compare. */
  function coresCard() {
    if (!answer.cores || answer.cores.length < 2) return null;
    return card('Cores', { note: 'of this host: who is last to arrive, after the median core', class: 'across' }, h('div', { class: 'fill' }, liveTable({
      label: 'Cores', testid: 'cores-table', items: answer.cores, sort: '-last', columns: [
        { key: 'core', head: 'Core', value: ({ id }) => id, cell: ({ id }) => id }, countColumn('Last in', 'last', { key: 'last' }),
        timeColumn('Late, median', UNITS.ms, ({ late_us }) => late_us * US), timeColumn('Device work a step', UNITS.ms, ({ device_us }) => device_us * US),
      ],
    }).element));
  }

  search.addEventListener('input', () => {
    app.link.set({ q: search.value.trim() }, 'replace');
    drawList(true);
  });
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Escape') {
      search.value = '';
      app.link.set({ q: '' }, 'push');
      drawList(true);
    }
    /** @type {HTMLElement|null} */ (list.querySelector('tr[tabindex="0"]'))?.focus();
  });

  const data = loadOnce(app, 'hosts', element, (/** @type {HostsDocument} */ next, own) => {
    [answer, session] = [next, own];
    known = new Map();
    opened = false;
    // That there is one host, or nothing that ties them, the verdict says.
    if (next.note && (next.state === 'compared' || next.state === 'clocks_apart')) app.note({ id: 'clocks', severity: 'warning', message: next.note });
    return draw();
  });
  /** @type {(() => void)|null} */
  let removeKeys = null;

  function escape() {
    const { st, hs, q } = app.link.state;
    if (!st && !hs && !q) return false;
    app.link.set(q ? { q: '' } : st ? { st: '' } : { hs: '' }, 'push');
    search.value = app.link.state.q ?? '';
    follow();
    return true;
  }
  return {
    element, open: data.open, move: data.known(draw),
    show(on) {
      data.show(on);
      heat.show(on);
      removeKeys?.();
      removeKeys = on ? app.keys.add([
        { code: 'Slash', shift: false, label: '/', does: 'find hosts', run: () => { search.focus(); search.select(); } },
        { code: 'Escape', label: 'Escape', does: 'clear: search, step, host', run: () => escape() },
      ]) : null;
    },
    recolor: heat.recolor,
  };
}
