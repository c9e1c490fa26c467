/** The speed-up table of many pairs, from a file: CSV with a head, as `xla-insights compare --pairs` reads it. */

/** @typedef {import('./types').PairsTable} PairsTable */
/** @typedef {import('./types').Verdict} Verdict */

/**
 * With columns `a` and `b` a line is a pair, of sessions of this logdir or of step times in ms, and `column` names the
 * column it belongs to; else every column after the first holds speed-ups as they are. What cannot be read is thrown.
 * @param {string} text
 * @param {(a: string, b: string) => Promise<{times: [number, number], verdict: Verdict}>} compared two sessions: their
 *   steps in ps
 * @returns {Promise<PairsTable>}
 */
export async function readPairs(text, compared) {
  const lines = readCsv(text.replace(/^\ufeff/, '')).filter(({ cells }) => cells.some(Boolean));
  const [head, ...rows] = lines;
  if (!rows.length) throw new Error('The file of pairs is empty: write a header line and one pair per line.');
  const place = (/** @type {string} */ name) => head.cells.findIndex((cell) => cell.toLowerCase() === name);
  const [a, b, column] = ['a', 'b', 'column'].map(place);
  const model = head.cells.findIndex((_, index) => ![a, b, column].includes(index));
  const pairs = a >= 0 && b >= 0;
  if (!pairs && (head.cells.length < 2 || model)) {
    throw new Error(
      'Line 1 of the pairs names neither columns a and b nor models and speed-ups; cells end with commas.',
    );
  }
  /** @type {Map<string, Map<string, {value: number, verdict: Verdict}>>} */
  const results = new Map();
  /** @type {Set<string>} */
  const columns = new Set();
  for (const { at, cells } of rows) {
    const put = (/** @type {string} */ name, /** @type {number} */ value, /** @type {Verdict} */ verdict = null) => {
      if (!(value > 0 && value < Infinity)) {
        throw new Error(`Line ${at} of the pairs has a cell that is not a number above 0; write numbers like 1.344.`);
      }
      const modelName = cells[model] ?? `${cells[a]} / ${cells[b]}`;
      if (results.get(modelName)?.has(name)) {
        throw new Error(`Line ${at} of the pairs: ${modelName} has a pair in ${name} already; name another column.`);
      }
      columns.add(name);
      results.set(modelName, (results.get(modelName) ?? new Map()).set(name, { value, verdict }));
    };
    if (cells.length !== head.cells.length) {
      throw new Error(`Line ${at} of the pairs has ${cells.length} cells under ${head.cells.length} heads.`);
    }
    if (!pairs) {
      cells.forEach(
        (cell, index) =>
          index !== model &&
          !['', '-', '–'].includes(cell) &&
          put(head.cells[index], number(cell.replace(/[x×]$/, ''))),
      );
    } else {
      const times = [cells[a], cells[b]].map((cell) => Math.round(number(cell) * 1e9));
      const names = [cells[a], cells[b]].filter((_, index) => Number.isNaN(times[index]));
      const comparison = names.length ? await compared(names[0], names.at(-1) ?? '') : { times, verdict: null };
      const [first, second] = times.map((value, index) => (Number.isNaN(value) ? comparison.times[index] : value));
      put(
        cells[column] ?? 'speed-up',
        first > 0 && second > 0 ? first / second : 0,
        names.length > 1 ? comparison.verdict : null,
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
    // Sums of decimals are rounded where binary fractions cannot hold them.
    means: values.map(
      (speedups) => Math.round((speedups.reduce((sum, value) => sum + value, 0) / speedups.length) * 1e9) / 1e9,
    ),
    counts: values.map((speedups) => speedups.length),
  };
}

/** Parses a number as the command line does: rejects `0x10`, `Infinity`, empty cells. @param {string} cell */
const number = (cell) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d\d?)?$/i.test(cell) ? Number(cell) : NaN);

/**
 * Lines of cells with the line each ends in; quoted cells may hold commas, line breaks, and quotes that are doubled.
 * @param {string} text
 */
function readCsv(text) {
  /** @type {{at: number, cells: string[]}[]} */
  const lines = [];
  let [at, cells] = [1, /** @type {string[]} */ ([])];
  for (const [all, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|\r|$)/g)) {
    if (plain?.startsWith('"')) {
      throw new Error(
        `Line ${at} of the pairs has a quote that does not end with its cell; double the quotes inside a cell.`,
      );
    }
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    at += all.split('\n').length - 1;
    if (end !== ',') {
      lines.push({ at: end ? at - 1 : at, cells });
      cells = [];
    }
  }
  return lines;
}
