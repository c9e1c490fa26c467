/** Reads the speed-up table of many pairs from CSV with a header, as `xla-insights compare --pairs` does. */

import { UNITS } from '../lib/format.js';
import { total } from '../lib/totals.js';

/** @typedef {import('./types').PairsTable} PairsTable */
/** @typedef {import('../lib/routes').TestVerdict} TestVerdict */

/**
 * With columns `a` and `b`, each line is a pair: of sessions of this logdir, or of step times in ms. Its speed-up is in
 * the column of the table that `column` names. Otherwise all columns after the first one contain speed-ups.
 * @param {string} text
 * @param {(a: string, b: string) => Promise<{times: [number, number], verdict: TestVerdict|null}>} compareSessions
 *   returns their median steps, ps, 0 without steps
 * @returns {Promise<PairsTable>} rejects with an `Error` that says which line cannot be read, or that there is no pair
 */
export async function readPairs(text, compareSessions) {
  const lines = readCsv(text.replace(/^\ufeff/, '')).filter(({ cells }) => cells.some(Boolean));
  const [head, ...rows] = lines;
  if (!rows.length) throw new Error('The file of pairs is empty: write a header line and one pair per line.');
  const columnIndex = (/** @type {string} */ name) => head.cells.findIndex((cell) => cell.toLowerCase() === name);
  const [a, b, column] = ['a', 'b', 'column'].map(columnIndex);
  const model = head.cells.findIndex((_, index) => ![a, b, column].includes(index));
  const hasPairs = a >= 0 && b >= 0;
  if (!hasPairs && (head.cells.length < 2 || model)) {
    throw new Error(
      'Line 1 of the pairs names neither columns a and b nor models and speed-ups; separate cells with commas.',
    );
  }
  /** @type {Map<string, Map<string, {value: number, verdict: TestVerdict|null}>>} */
  const results = new Map();
  // Columns and models of speed-ups are listed even if they have none.
  const columns = new Set(hasPairs ? [] : head.cells.filter((_, index) => index !== model));
  for (const { line, cells } of rows) {
    /** @param {string} name of the column @param {number} value @param {TestVerdict|null} [verdict] */
    const add = (name, value, verdict = null) => {
      if (!(value > 0 && value < Infinity)) {
        throw new Error(`Line ${line} of the pairs has a cell that is not a number above 0; write numbers like 1.344.`);
      }
      const modelName = cells[model] ?? `${cells[a]} / ${cells[b]}`;
      if (results.get(modelName)?.has(name)) {
        throw new Error(`Line ${line} of the pairs: ${modelName} occurs twice in ${name}; rename one of the two.`);
      }
      columns.add(name);
      results.set(modelName, (results.get(modelName) ?? new Map()).set(name, { value, verdict }));
    };
    if (cells.length !== head.cells.length) {
      throw new Error(`Line ${line} of the pairs has ${cells.length} cells under ${head.cells.length} headings.`);
    }
    if (!hasPairs) {
      if (!results.has(cells[model])) results.set(cells[model], new Map());
      cells.forEach(
        (cell, index) =>
          index !== model &&
          !['', '-', '–'].includes(cell) &&
          add(head.cells[index], parseNumber(cell.replace(/[x×]$/, ''))),
      );
    } else {
      const times = [cells[a], cells[b]].map((cell) => Math.round(parseNumber(cell) * UNITS.ms.ps));
      const sessions = [cells[a], cells[b]].filter((_, index) => Number.isNaN(times[index]));
      const comparison = sessions.length
        ? await compareSessions(sessions[0], sessions.at(-1) ?? '')
        : { times, verdict: null };
      const stepless = [cells[a], cells[b]].find((_, index) => Number.isNaN(times[index]) && !comparison.times[index]);
      if (stepless !== undefined) {
        throw new Error(
          `Line ${line} of the pairs: ${stepless} has no steps to take a time from; give a step time in ms instead.`,
        );
      }
      const [first, second] = times.map((value, index) => (Number.isNaN(value) ? comparison.times[index] : value));
      add(
        cells[column] ?? 'speed-up',
        first > 0 && second > 0 ? first / second : 0,
        sessions.length > 1 ? comparison.verdict : null,
      );
    }
  }
  const names = [...columns];
  const values = names.map((name) => [...results.values()].flatMap((byColumn) => byColumn.get(name)?.value ?? []));
  return {
    columns: names,
    rows: [...results].map(([name, byColumn]) => ({
      model: name,
      speedups: names.map((key) => byColumn.get(key)?.value ?? null),
      verdicts: names.map((key) => byColumn.get(key)?.verdict ?? null),
    })),
    // Rounded, because sums of decimal fractions are inexact in binary.
    means: values.map((speedups) =>
      speedups.length ? Math.round((total(speedups, Number) / speedups.length) * 1e9) / 1e9 : null,
    ),
    counts: values.map((speedups) => speedups.length),
  };
}

/** Parses a number as the command line does: rejects `0x10`, `Infinity`, empty cells. @param {string} cell */
const parseNumber = (cell) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d\d?)?$/i.test(cell) ? Number(cell) : NaN);

/**
 * The rows of a CSV text, each with the number of its last line. Quoted cells may contain commas, line breaks, and
 * doubled quotes.
 * @param {string} text
 */
function readCsv(text) {
  /** @type {{line: number, cells: string[]}[]} */
  const rows = [];
  let [line, cells] = [1, /** @type {string[]} */ ([])];
  for (const [match, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|\r|$)/g)) {
    if (plain?.startsWith('"')) {
      throw new Error(
        `Line ${line} of the pairs has a quote that does not end with its cell; double the quotes inside a cell.`,
      );
    }
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    line += match.split(/\r\n|[\r\n]/).length - 1;
    if (end !== ',') {
      rows.push({ line: end ? line - 1 : line, cells });
      cells = [];
    }
  }
  return rows;
}
