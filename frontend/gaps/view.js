/** Gaps: what recurs, and every gap by itself; a pattern or a filter narrows the list. */

import { h, fill, button } from '../lib/dom.js';
import { CLASSES, LABELS } from '../lib/classes.js';
import { loadOnce } from '../frame/once.js';
import { emptyCard, card, classCell, gapPlace, hue, kindTag, lengthBar, link, miniBar, showButton } from '../lib/cards.js';
import { columnUnit, count, cutMiddle, digits, headline, MISSING, plural, share, timeCell } from '../lib/format.js';
import { filtersText, filtersValue } from '../lib/filters.js';
import { saveCsv } from '../lib/csv.js';
import { msText } from '../lib/link.js';
import { liveTable } from '../lib/table.js';
import { eachCore, filterGaps, groupGaps, isExact, rowOf, stepOf, sumClasses } from './group.js';

/** @typedef {import('../lib/views').Gaps} Gaps */
/** @typedef {import('../lib/views').GapItem} GapItem */
/** @typedef {import('../lib/views').GapPattern} GapPattern */
/** @typedef {import('./group.js').GapRow} GapRow */

const LEAST = ['', '0.1', '1', '10'];

/** @param {import('../frame/app.js').App} app @returns {import('../frame/views.js').View} */
export function create(app) {
  const element = h('div', { class: 'cards gaps' });
  const heading = h('span', { class: 'sec', 'data-testid': 'gap-count' });
  const list = h('div', { class: 'fill' });
  /** @type {Gaps|null} */
  let answer = null;
  /** @type {import('../lib/types').Ready|null} */
  let session = null;
  /** Rows that are open, by the identity of their first gap. @type {Set<string>} */
  let opened = new Set();
  /** @type {GapItem[]} */
  let left = [];
  /** @type {ReturnType<typeof liveTable>|null} */
  let patterns = null;
  /** @type {ReturnType<typeof liveTable>|null} */
  let rows = null;

  const keyOf = (/** @type {GapItem} */ gap) => `gap:${gap.device}@${msText(gap.start_ps, true)}`;
  const chosenPattern = () => {
    const at = /^pat:(\d+)$/.exec(app.link.state.sel ?? '')?.[1] ?? filtersValue(app.link.state.f).get('pat');
    return answer?.patterns[Number(at ?? NaN)] ?? null;
  };
  const deviceName = (/** @type {string} */ id) => {
    const device = session?.devices.find((own) => own.id === id);
    return !device ? id : (session?.session.hosts.length ?? 1) > 1 ? `${device.name} · ${device.host}` : device.name;
  };

  /** @param {string} key @param {string} value */
  function setFilter(key, value) {
    const filters = filtersValue(app.link.state.f);
    filters.set(key, value);
    app.link.set({ f: filtersText(filters), ...(key === 'pat' ? { sel: '' } : {}) }, 'push');
    drawList(true);
  }

  function draw() {
    if (!answer || !session) return 'empty';
    app.count('gaps', count(answer.count));
    if (!session.devices.length) {
      fill(element, emptyCard('Gaps', 'Gaps need a device plane, and this capture has none.',
        'Record again while the device is running, with the profiler server in the process that owns the device.'));
      return 'empty';
    }
    if (!answer.count) {
      fill(element, emptyCard('Gaps', 'No gap of 10\u202fµs or more.', answer.total_ps ? `The devices are idle for ${headline(answer.total_ps)} in shorter ones.` : undefined));
      return 'empty';
    }
    patterns = patternsTable(answer, session.session.duration_ps);
    const steps = session.rows.filter(({ kind }) => kind === 'steps').reduce((sum, row) => sum + row.events, 0);
    const per = steps * session.devices.length;
    const [first] = answer.patterns;
    fill(element, filterBar(answer),
      card('Recurring patterns', { note: 'gaps with the same program before and after', class: 'patterns' }, h('div', { class: 'fill' }, patterns.element),
        h('p', { class: 'small muted' }, first && per ? `The first pattern takes ${headline(first.total_ps / per)} per step and core; without it steps are shorter by at most that. ` : '',
          'Selecting a pattern filters the list below.')),
      card('Gaps', { note: 'gaps at the same time on several cores are one row', class: 'gap-card' }, list));
    drawList(false);
    return 'ready';
  }

  /** @param {Gaps} all */
  function filterBar({ items }) {
    const filters = filtersValue(app.link.state.f);
    /** @param {string} key @param {string} label @param {[string, string][]} choices */
    const pick = (key, label, choices) => {
      const select = h('select', { 'data-testid': `filter-${key}`, 'aria-label': label, onchange: () => setFilter(key, select.value) },
        choices.map(([value, text]) => h('option', { value }, text)));
      select.value = filters.get(key) ?? '';
      if (select.selectedIndex < 0) select.value = '';
      return h('span', { class: 'pick' }, h('span', null, label), select);
    };
    const devices = [...new Set(items.map(({ device }) => device))];
    const steps = [...new Set(items.map(stepOf))].filter(Boolean).sort((a, b) => Number(a) - Number(b));
    const causes = CLASSES.filter((name) => items.some(({ cause }) => cause === name));
    const ranks = new Map((session?.devices ?? []).map(({ id }, index) => [id, index]));
    devices.sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
    return h('div', { class: 'filters', 'data-testid': 'gap-filters' },
      pick('device', 'device', [['', `all ${count(devices.length)}`], .../** @type {[string, string][]} */ (devices.map((id) => [id, deviceName(id)]))]),
      pick('cause', 'cause', [['', 'any'], .../** @type {[string, string][]} */ (causes.map((name) => [name, LABELS[name]]))]),
      pick('kind', 'kind', [['', 'any'], ['starved', 'starved'], ['queued', 'queued'], ['unknown', 'unknown']]),
      pick('step', 'step', [['', 'any'], .../** @type {[string, string][]} */ (steps.map((step) => [step, step]))]),
      pick('min', 'at least', LEAST.map((ms) => [ms, ms ? `${ms}\u202fms` : '10\u202fµs'])),
      h('span', { class: 'grow' }), heading, button('Export CSV', save, { 'data-testid': 'export-csv' }));
  }

  /** @param {boolean} say */
  function drawList(say) {
    if (!answer || !session) return;
    left = filterGaps(answer.items, filtersValue(app.link.state.f), chosenPattern(), app.chosen());
    const whole = left.length === answer.count;
    const sum = whole ? answer.listed_ps : left.reduce((all, gap) => all + gap.duration_ps, 0);
    const about = whole || left.every(isExact) ? '' : '≈ ';
    const cut = answer.items.length < answer.count ? `; the ${count(answer.items.length)} longest of ${count(answer.count)} are listed` : '';
    const small = answer.total_ps - answer.listed_ps;
    fill(heading, h('b', null, plural(left.length, 'gap')), `, ${about}${headline(sum)} of ${headline(answer.total_ps)} idle`,
      small > 0 ? `; ${headline(small)} in gaps under 10\u202fµs` : '', cut);
    if (say) app.live.say(`${left.length} gaps.`);
    patterns?.refresh();
    rows = left.length ? gapsTable(groupGaps(left, session.devices.map(({ id }) => id))) : null;
    fill(list, rows ? rows.element : h('p', { class: 'sec', 'data-testid': 'gap-list' }, 'No gap is left. ',
      link('Clear the filters', () => { app.link.set({ f: '', sel: '' }, 'push'); draw(); })));
  }

  /** @param {GapRow[]} groups */
  function gapsTable(groups) {
    const unit = columnUnit(groups.map(({ mean_ps }) => mean_ps));
    const most = Math.max(...groups.map(({ mean_ps }) => mean_ps));
    /** @type {Map<GapRow, GapRow[]>} */
    const inside = new Map();
    const parts = (/** @type {GapRow} */ row) => {
      if (row.gaps.length < 2 || !opened.has(keyOf(row.gap))) return [];
      let own = inside.get(row);
      if (!own) inside.set(row, own = row.gaps.map((gap) => rowOf([gap], row)));
      return own;
    };
    const ends = (/** @type {GapRow} */ { gap }) => endsText(gap, 400);
    const selected = app.link.state.sel;
    const whole = groups.find(({ gaps }) => gaps.length > 1 && gaps.slice(1).some((gap) => keyOf(gap) === selected));
    if (whole) opened.add(keyOf(whole.gap));
    return liveTable({
      label: 'Gaps', testid: 'gap-list', items: groups, rowHeight: 24, sort: app.link.state.o || '-time', parts, rowid: () => 'gap-row',
      ordered: (o) => app.link.set({ o: o === '-time' ? '' : o }, 'push'),
      open: (row) => app.open(gapPlace(row.gap)),
      select: (row) => { app.link.set({ sel: keyOf(row.gap), f: withPattern() }, 'push'); rows?.refresh(); },
      selected: (row) => keyOf(row.gap) === app.link.state.sel && (row.whole !== null || row.gaps.length < 2 || !opened.has(keyOf(row.gap))),
      columns: [
        { key: 'start', head: 'Start, ms', number: true, value: ({ gap }) => gap.start_ps, ps: ({ gap }) => gap.start_ps,
          cell: ({ gap }) => link(digits(gap.start_ps / 1e9, 3), () => app.open(gapPlace(gap))) },
        { key: 'time', head: `Time (mean), ${unit.name}`, number: true, value: ({ mean_ps }) => mean_ps, ps: (row) => Math.round(row.mean_ps), cell: (row) => timeCell(row.mean_ps, unit) },
        { key: 'bar', head: '', cell: ({ mean_ps, gap }) => h('span', { class: 'w-bar' }, lengthBar(mean_ps / most, hue(gap.cause))) },
        { key: 'device', head: 'Device', value: ({ gaps, gap }) => (gaps.length > 1 ? '' : deviceName(gap.device)), cell: (row) => deviceCell(row) },
        { key: 'step', head: 'Step', number: true, value: ({ gap }) => gap.step_number ?? gap.step ?? -1, cell: ({ gap }) => stepOf(gap) || MISSING },
        { key: 'kind', head: 'Kind', value: ({ gap }) => gap.kind, cell: ({ gap }) => kindTag(gap.kind) },
        { key: 'cause', head: 'Mostly', value: ({ gap }) => LABELS[gap.cause], cell: ({ gap }) => classCell(gap.cause) },
        { key: 'fill', head: 'What fills it', cell: (row) => miniBar(row.by_class_ps) },
        { key: 'ends', head: 'Before → after', value: ends, title: ends,
          cell: ({ gap }) => h('span', { class: 'sec' }, endsText(gap, 22)) },
        { key: 'show', head: '', number: true, cell: ({ gap }) => showButton(() => app.open(gapPlace(gap)), 'gap-show') },
      ],
    });
  }

  /** The pattern that `sel` named moves to the filters when something else is selected. */
  function withPattern() {
    const pattern = chosenPattern();
    const filters = filtersValue(app.link.state.f);
    if (pattern && answer) filters.set('pat', String(answer.patterns.indexOf(pattern)));
    return filtersText(filters);
  }

  /** @param {GapRow} row */
  function deviceCell(row) {
    if (row.whole) return h('span', { class: 'inner' }, deviceName(row.gap.device));
    if (row.gaps.length < 2) return deviceName(row.gap.device);
    const key = keyOf(row.gap);
    const on = opened.has(key);
    return h('button', { type: 'button', class: 'fold', 'aria-expanded': String(on), onclick: (/** @type {Event} */ event) => {
      event.stopPropagation();
      if (on) opened.delete(key);
      else opened.add(key);
      rows?.refresh();
    } }, h('span', { class: 'muted', 'aria-hidden': 'true' }, on ? '▾' : '▸'), `${row.gaps.length} cores`);
  }

  /** @param {Gaps} all @param {number} duration */
  function patternsTable({ patterns: items, items: gaps, total_ps }, duration) {
    const unit = columnUnit(items.map((pattern) => pattern.total_ps));
    const its = new Map(items.map((pattern) => [pattern, filterGaps(gaps, new Map(), pattern, { hosts: [], devices: [] })]));
    const of = (/** @type {GapPattern} */ pattern) => its.get(pattern) ?? [];
    const fills = new Map(items.map((pattern) => [pattern, pattern.by_class_ps ?? sumClasses(of(pattern))]));
    const range = (/** @type {GapPattern} */ pattern) => {
      const all = of(pattern).map(({ duration_ps }) => duration_ps);
      const [least, most] = [pattern.min_ps ?? Math.min(...all), pattern.max_ps ?? Math.max(...all)];
      return all.length || pattern.max_ps ? `${timeCell(least, unit, 1)} – ${timeCell(most, unit, 1)}` : MISSING;
    };
    /** @param {'before'|'after'} key @param {string} head @param {string} [inside] what a gap inside of a run says @returns {import('../lib/table.js').Column<GapPattern>} */
    const program = (key, head, inside) => ({ key, head, value: (pattern) => pattern[key] ?? '', title: (pattern) => pattern[key] ?? '',
      cell: (pattern) => (inside && pattern.inside_run ? h('span', { class: 'sec' }, inside) : cutMiddle(pattern[key] ?? MISSING, 34)) });
    return liveTable({
      label: 'Recurring patterns', testid: 'gap-patterns', items, sort: '-total', rowHeight: 24,
      rowid: (pattern) => `pattern-${items.indexOf(pattern)}`,
      select: (pattern) => setFilter('pat', pattern === chosenPattern() ? '' : String(items.indexOf(pattern))),
      open: (pattern) => { const [gap] = of(pattern); if (gap) app.open(gapPlace(gap)); },
      selected: (pattern) => pattern === chosenPattern(),
      columns: [
        program('before', 'Program before'), program('after', 'Program after', 'in the middle of its run'),
        { key: 'cause', head: 'Mostly', value: ({ cause }) => LABELS[cause], cell: ({ cause }) => classCell(cause) },
        { key: 'count', head: 'Count', number: true, value: (pattern) => pattern.count, cell: (pattern) => count(pattern.count) },
        { key: 'total', head: `Total, ${unit.name}`, number: true, value: (pattern) => pattern.total_ps, ps: (pattern) => pattern.total_ps, cell: (pattern) => timeCell(pattern.total_ps, unit) },
        { key: 'mean', head: `Mean, ${unit.name}`, number: true, value: ({ mean_ps }) => mean_ps, ps: ({ mean_ps }) => Math.round(mean_ps), cell: ({ mean_ps }) => timeCell(mean_ps, unit) },
        { key: 'range', head: `Min – max, ${unit.name}`, number: true, cell: range },
        { key: 'share', head: 'Of idle', number: true, value: (pattern) => pattern.total_ps, cell: (pattern) => share(pattern.total_ps / total_ps) },
        { key: 'fill', head: 'What fills it, mean', cell: (pattern) => miniBar(fills.get(pattern) ?? {}) },
        { key: 'when', head: 'When, over the session', cell: (pattern) => ticks(pattern, of(pattern), duration) },
      ],
    });
  }

  function save() {
    saveCsv('gaps.csv', ['device', 'start_ps', 'duration_ps', 'step', 'kind', 'cause', 'before', 'after', ...CLASSES.map((name) => `${name}_ps`)],
      left.map((gap) => [gap.device, gap.start_ps, gap.duration_ps, stepOf(gap), gap.kind, gap.cause, gap.before, gap.after, ...CLASSES.map((name) => (gap.alike ? null : gap.by_class_ps[name] ?? 0))]));
  }

  const data = loadOnce(app, 'gaps', element, (/** @type {Gaps} */ next, own) => {
    answer = { ...next, items: eachCore(next.items) };
    session = own;
    opened = new Set();
    return draw();
  });
  return { element, open: data.open, filter: () => drawList(true), move: () => { draw(); }, show: data.show, recolor() {} };
}

/** @param {GapItem} gap @param {number} most letters of a name */
function endsText({ before, after, inside_run }, most) {
  const name = (/** @type {string|null} */ program) => (program ? cutMiddle(program, most) : MISSING);
  return inside_run ? `inside of ${name(after)}` : `${name(before)} → ${name(after)}`;
}

/** Marks where the gaps of a pattern lie. @param {GapPattern} pattern @param {GapItem[]} gaps @param {number} duration */
function ticks(pattern, gaps, duration) {
  const places = [...new Set(gaps.map(({ start_ps }) => Math.round((start_ps / duration) * 200)))];
  return h('div', { class: 'ticks', 'aria-hidden': 'true' }, places.map((place) => {
    const mark = h('i', null);
    mark.style.left = `${place / 2}%`;
    mark.style.background = hue(pattern.cause);
    return mark;
  }));
}
