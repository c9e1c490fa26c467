/** Formats the times and most other numbers that the page prints. */

const NARROW_SPACE = '\u202f';
const MINUS = '\u2212';
export const MISSING = '–';

/** @typedef {{name: string, ps: number}} Unit */

/** @type {Record<'s'|'ms'|'us'|'ns', Unit>} */
export const UNITS = {
  s: { name: 's', ps: 1e12 },
  ms: { name: 'ms', ps: 1e9 },
  us: { name: 'µs', ps: 1e6 },
  ns: { name: 'ns', ps: 1e3 },
};

/**
 * Digits in groups of three, with a true minus: `3148.2` → `3 148.200`.
 * @param {number} value @param {number} [decimals]
 */
export function digits(value, decimals = 0) {
  const [whole, fraction] = Math.abs(value).toFixed(decimals).split('.');
  const text = whole.replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE) + (fraction ? '.' + fraction : '');
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/**
 * The unit that fits a value: s from 10 s on, ms from 0.1 ms on and for 0, µs from 0.1 µs on, else ns.
 * @param {number} ps
 */
export function unitFor(ps) {
  const size = Math.abs(ps);
  if (size >= 1e13) return UNITS.s;
  if (size >= 1e8 || !size) return UNITS.ms;
  return size >= 1e5 ? UNITS.us : UNITS.ns;
}

/**
 * The unit of a time in a sentence, and of a column that a sentence beside it quotes: s from 1 s on, else as `unitFor`.
 * @param {number} ps
 */
export const briefUnitFor = (ps) => (Math.abs(ps) >= UNITS.s.ps ? UNITS.s : unitFor(ps));

/** A time in a table whose head names the unit: `72.143`. @param {number|null|undefined} ps @param {Unit} unit */
export function timeCell(ps, unit, decimals = 3) {
  return ps == null ? MISSING : digits(ps / unit.ps, decimals);
}

/** A device time in a table: five decimals below 0.1 ms in a ms column. @param {number|null} ps @param {Unit} unit */
export function deviceTimeCell(ps, unit) {
  const short = ps != null && unit === UNITS.ms && ps !== 0 && Math.abs(ps) < 1e8;
  return timeCell(ps, unit, short ? 5 : 3);
}

/**
 * A time in a sentence, in the unit that fits it: `72.143 ms`.
 * @param {number|null|undefined} ps
 * @param {number} [decimals]
 */
export function timeText(ps, decimals = 3) {
  if (ps == null) return MISSING;
  const unit = unitFor(ps);
  return digits(ps / unit.ps, decimals) + NARROW_SPACE + unit.name;
}

/** An instant of the session, always in ms: `715.080 ms`. @param {number} ps */
export function instantText(ps, decimals = 3) {
  return digits(ps / UNITS.ms.ps, decimals) + NARROW_SPACE + 'ms';
}

/**
 * Both ends of an interval in ms, with enough decimals to distinguish them: `715.080 – 787.223 ms`.
 * @param {number} start @param {number} end
 */
export function rangeText(start, end) {
  const length = Math.max(1, end - start);
  const decimals = length >= 1e7 ? 3 : Math.min(9, 3 - Math.floor(Math.log10(length / 1e9)));
  return `${digits(start / 1e9, decimals)} – ${instantText(end, decimals)}`;
}

/** A time with one decimal, or none from 1000 units on: `242.6 ms`, `1 163 ms`. @param {number} ps */
export const headlineTime = (ps) => timeText(ps, Math.abs(ps / unitFor(ps).ps) >= 1000 ? 0 : 1);

/** A share from 0 to 1: `62.2 %`; `< 0.1 %` for less; `100.0 %` only if exact. @param {number|null|undefined} value */
export function share(value) {
  if (value == null || Number.isNaN(value)) return MISSING;
  if (value > 0 && value < 0.0005) return `<${NARROW_SPACE}0.1${NARROW_SPACE}%`;
  const capped = value < 1 && value > 0.999 ? 0.999 : value;
  return digits(capped * 100, 1) + NARROW_SPACE + '%';
}

/** A number per second, with at least four digits: `12 804`, `318.4`. @param {number} value */
export function rate(value) {
  const decimals = [1000, 100, 10, 1].findIndex((min) => value >= min);
  return digits(value, decimals < 0 ? 4 : decimals);
}

/** `1.22×` @param {number} value */
export const ratio = (value) => digits(value, 2) + '×';

/** A difference with its sign, unless it rounds to 0: `+20.8`, `−58.2`. @param {number} value */
export function difference(value, decimals = 1) {
  const text = digits(value, decimals);
  return text.startsWith(MINUS) || !/[1-9]/.test(text) ? text : '+' + text;
}

/**
 * A size in powers of 1000, with one decimal from 1 kB on: `318.4 MB`; `< 1 B` for less, as means may be.
 * @param {number|null|undefined} size bytes
 */
export function bytes(size) {
  if (size == null) return MISSING;
  if (size > 0 && size < 0.5) return `<${NARROW_SPACE}1${NARROW_SPACE}B`;
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  let power = 0;
  let value = size;
  while (value >= 999.95 && power < names.length - 1) { value /= 1000; power += 1; }
  return digits(value, power ? 1 : 0) + NARROW_SPACE + names[power];
}

/** `11 520` @param {number|null|undefined} value */
export const count = (value) => (value == null ? MISSING : digits(value));

/** `1 event`, `531 events` @param {number} value @param {string} noun @param {string} [nouns] its plural */
export const plural = (value, noun, nouns = noun + 's') => `${count(value)}\u00a0${value === 1 ? noun : nouns}`;

/** Cuts a long name in the middle: `SyncTensors…41937`. @param {string} text @param {number} [maxLetters] */
export function cutMiddle(text, maxLetters = 48) {
  if (text.length <= maxLetters) return text;
  const tail = Math.floor((maxLetters - 1) / 3);
  // Half of a surrogate pair would be shown as an escape.
  const head = text.slice(0, maxLetters - 1 - tail).replace(/[\ud800-\udbff]$/, '');
  return head + '…' + text.slice(-tail).replace(/^[\udc00-\udfff]/, '');
}

/**
 * `; the 200 of 312 with most device time`, the end of a table's note; empty if all its rows are listed.
 * @param {unknown[]} items the listed rows @param {number} rowCount of all rows @param {string} which are listed
 */
export const listedRows = ({ length }, rowCount, which) =>
  length < rowCount ? `; the ${count(length)} of ${count(rowCount)} ${which}` : '';
