import assert from 'node:assert/strict';
import { test } from 'node:test';
import { windowLinkState } from '../../frontend/lib/cards.js';
import { filtersText, filtersValue } from '../../frontend/lib/filters.js';
import {
  formatHash, linkedStepIndex, listItems, listText, msText, msValue, parseHash, roundToNs, spanText, spanValue,
  stepArgument, stepKey,
} from '../../frontend/lib/link.js';
import { foldsText, foldsValue } from '../../frontend/timeline/layout.js';
import { eventSelection, windowSelection, selectionText, selectionValue } from '../../frontend/timeline/selection.js';

test('only the keys of this page are read from a hash', () => {
  assert.deepEqual(parseHash('#xla_insights&p.xla_insights.w=520+380&p.other.w=1&p.xla_insights.s=run/2026%20a'), {
    w: '520+380',
    s: 'run/2026 a',
  });
  assert.deepEqual(parseHash(''), {});
  assert.deepEqual(parseHash('#p.xla_insights.q=%E0%A4%A'), { q: '%E0%A4%A' });
});

test('keys of other plugins stay in the hash', () => {
  assert.equal(formatHash('#xla_insights&p.xla_insights.q=old&p.other.k=1', { w: '520+380', q: '' }),
    '#xla_insights&p.other.k=1&p.xla_insights.w=520+380');
});

test('a state is unchanged after a round trip through a hash', () => {
  const state = { s: 'run/a b&c=d', d: 'vm/TPU:0,vm/TPU:1', sel: 'ev:h0.t3@739.896/1', q: 'a+b %' };
  assert.deepEqual(parseHash(formatHash('#xla_insights', state)), state);
});

test('a list is unchanged after a round trip, also if its items have commas', () => {
  const devices = ['run 1, b/TPU:0', '50%/TPU:1', 'vm/TPU:0'];
  const { d } = parseHash(formatHash('', { d: listText(devices) }));
  assert.deepEqual(listItems(d), devices);
  assert.equal(listText(['vm/TPU:0', 'vm/TPU:1']), 'vm/TPU:0,vm/TPU:1');
  assert.deepEqual(listItems(undefined), []);
});

test('times are decimal ms, rounded to ns unless they must be exact', () => {
  assert.equal(msText(715_080_172_721), '715.080173');
  assert.equal(msText(715_080_172_721, true), '715.080172721');
  assert.equal(msText(520_000_000_000), '520');
  assert.equal(msValue('715.080172721'), 715_080_172_721);
  assert.ok(Number.isNaN(msValue('1e5')));
  assert.equal(roundToNs(1_499), 1_000);
});

test('a span is its start and its length', () => {
  assert.equal(spanText(520e9, 900e9), '520+380');
  assert.deepEqual(spanValue('520+380'), { start_ps: 520e9, end_ps: 900e9 });
  assert.equal(spanValue('520'), null);
  assert.equal(spanValue('520+0'), null);
  assert.equal(spanValue('-1+5'), null);
});

test('a selected window is exact, whether the pointer or a view chose it', () => {
  const text = 'win:715.080172721+72.143172957';
  const selection = windowSelection(715_080_172_721, 787_223_345_678);
  assert.equal(selectionText(selection), text);
  assert.deepEqual(selectionValue(text), selection);
  assert.equal(windowLinkState(715_080_172_721, 787_223_345_678).sel, text);
  const rounded = windowSelection(roundToNs(715_080_172_721), roundToNs(787_223_345_678));
  assert.equal(selectionText(rounded), 'win:715.080173+72.143173');
});

test('a selected event keeps its exact start and depth', () => {
  const text = selectionText(
    eventSelection({
      row: 'h0.t3',
      depth: 2,
      start_ps: 715_080_172_721,
      duration_ps: 5,
      name: 'x',
      event: '0.7',
      class: null,
      thread: '',
    }),
  );
  assert.equal(text, 'ev:h0.t3@715.080172721/2');
  const { row, depth, start_ps } = selectionValue(text);
  assert.deepEqual({ row, depth, start_ps }, { row: 'h0.t3', depth: 2, start_ps: 715_080_172_721 });
  for (const wrong of ['', 'ev:', 'ev:h0@x', 'win:5', 'gap', undefined]) assert.equal(selectionValue(wrong), null);
});

test('folds list open rows, and closed ones with a minus', () => {
  const folds = new Map([['h0.t3', true], ['vm/TPU:0', false]]);
  assert.equal(foldsText(folds), 'h0.t3,-vm/TPU:0');
  assert.deepEqual(foldsValue(foldsText(folds)), folds);
  assert.equal(foldsValue(undefined).size, 0);
  const ids = ['a,b/TPU:0', '-w4/TPU:0', '100%2C/TPU:0', 'h0.t3'];
  for (const open of [true, false]) {
    const named = new Map(ids.map((id) => /** @type {[string, boolean]} */ ([id, open])));
    assert.deepEqual(foldsValue(foldsText(named)), named);
  }
});

test('filters are unchanged after a round trip through the link', () => {
  const filters = new Map([['cause', 'compile'], ['device', 'TPU:0'], ['step', 'a,b%'], ['kind', '']]);
  assert.equal(filtersText(filters), 'cause:compile,device:TPU:0,step:a%2Cb%25');
  assert.deepEqual(
    [...filtersValue(filtersText(filters))],
    [
      ['cause', 'compile'],
      ['device', 'TPU:0'],
      ['step', 'a,b%'],
    ],
  );
  assert.deepEqual([...filtersValue('nonsense,step:%')], [['step', '%']]);
});

test('a step of one host is found among steps of equal number, and routes get its number alone', () => {
  const numbers = [7, 8, 7, 8, 9];
  assert.deepEqual([0, 3, 4].map((step) => stepKey(numbers, step)), ['7.0', '8.3', '9']);
  const links = ['7.0', '8.3', '9', '8', '7.1', 'mean'];
  assert.deepEqual(links.map((st) => linkedStepIndex(numbers, st)), [0, 3, 4, 1, 0, -1]);
  assert.deepEqual(['8.3', '9', 'mean', '7-9', undefined].map(stepArgument), ['8', '9', 'mean', undefined, undefined]);
});
