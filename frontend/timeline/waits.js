/** Waits of cores for other hosts in collectives: those in the shown span, and those of all cores in one collective. */

import { get, createLatestChannel } from '../lib/api.js';
import { timeText } from '../lib/format.js';
import { groupBy } from '../lib/totals.js';
import { fetchSpan, resolution } from './scale.js';
import { laneAt } from './scene.js';

/** @typedef {import('../lib/routes').Waits} Waits */
/** @typedef {import('../lib/routes').CollectiveArrivals} Collective */
/** @typedef {import('./layout.js').Lane} Lane */
/**
 * The op of a collective on a core.
 * @typedef {object} Op
 * @property {string} device
 * @property {number} depth
 * @property {number} start_ps
 * @property {number} until_ps end of its wait for the last host; its start if it does not wait
 * @property {number} end_ps
 * @property {string} name
 * @property {string} last_host the host that arrives last
 */
/** An op as drawn; `lateHost` is the short name of the last host. @typedef {Op & {lane: Lane, lateHost: string}} Bar */

/**
 * Rows of ops, from columns.
 * @param {Pick<Collective['cores'], 'device'|'depth'|'start_ps'|'waits_ps'|'end_ps'>} columns
 * @param {(at: number) => string} nameAt
 * @param {(at: number) => string} lastAt
 * @returns {Op[]}
 */
const opRows = ({ device, depth, start_ps, waits_ps, end_ps }, nameAt, lastAt) =>
  device.map((id, at) => ({
    device: id,
    depth: depth[at],
    start_ps: start_ps[at],
    until_ps: start_ps[at] + waits_ps[at],
    end_ps: end_ps[at],
    name: nameAt(at),
    last_host: lastAt(at),
  }));

/** @param {Waits} waits */
export const opsOfWaits = (waits) =>
  opRows(waits, (at) => waits.names[waits.name[at]], (at) => waits.names[waits.last_host[at]]);

/** @param {Collective} collective */
const opsOfCollective = ({ name, last_host, cores }) => opRows(cores, () => name, () => last_host);

/**
 * Ops with the lanes that show them: the lane of the device's ops, or of its runs if the device has no lanes of ops.
 * @param {Op[]} ops @param {Lane[]} lanes @param {(host: string) => string} shortName @returns {Bar[]}
 */
export function barsOf(ops, lanes, shortName) {
  const deviceLanes = lanes.filter(({ kind, row }) => kind === 'slices' && row.device);
  const keyOf = (/** @type {Lane} */ { row, depth }) => `${depth} ${row.device}`;
  const [runLanes, opLanes] = ['modules', 'ops'].map(
    (kind) => new Map(deviceLanes.filter(({ row }) => row.kind === kind).map((lane) => [keyOf(lane), lane])),
  );
  return ops.flatMap((op) => {
    const lane =
      opLanes.get(`${op.depth} ${op.device}`) ??
      (opLanes.has(`0 ${op.device}`) ? undefined : runLanes.get(`0 ${op.device}`));
    return lane ? [{ ...op, lane, lateHost: shortName(op.last_host) }] : [];
  });
}

/** Candidates for the text of a wait, the longest first. @param {Pick<Bar, 'start_ps'|'until_ps'|'lateHost'>} bar */
export function waitTexts({ start_ps, until_ps, lateHost }) {
  const wait = `waits ${timeText(until_ps - start_ps, 1)}`;
  return [`${wait} for ${lateHost}`, wait];
}

/**
 * Arrows from the late host's op to the ends of the waits for it, one for each waiting host.
 * @param {Bar[]} bars of one collective
 * @param {string} device of the op from which the arrows begin, if it is one of the late host's
 * @returns {import('./paint.js').Arrow[]}
 */
export function waitArrows(bars, device) {
  const lateBars = bars.filter(({ lane, last_host }) => lane.row.host === last_host);
  const from = lateBars.find((bar) => bar.device === device) ?? lateBars[0];
  const waiting = bars.filter(({ start_ps, until_ps }) => until_ps > start_ps);
  const firstWaits = [...groupBy(waiting, ({ lane }) => lane.row.host).values()].map(([first]) => first);
  const endpoint = (/** @type {Lane} */ { row, depth }, /** @type {number} */ ps) => ({
    row: row.id,
    depth,
    start_ps: ps,
    end_ps: ps,
  });
  return from
    ? firstWaits.map(({ lane, until_ps }) => ({
        from: endpoint(from.lane, from.start_ps),
        to: endpoint(lane, until_ps),
      }))
    : [];
}

/**
 * @param {import('./model.js').Model} model
 * @param {object} on
 * @param {() => import('../lib/types').Ready|null} on.session
 * @param {(host: string) => string} on.shortName
 * @param {() => void} on.arrived called after waits have arrived
 * @param {(error: Error) => void} on.failed
 * @param {(summary: import('../lib/routes').EventSummary) => void} on.open opens an event
 */
export function createWaits(model, on) {
  const channel = createLatestChannel('waits');
  /**
   * The loaded ops with their session's query as JSON, their span, and the requested time per pixel.
   * @type {{query: string, start_ps: number, end_ps: number, psPerPx: number, ops: Op[]}|null}
   */
  let loaded = null;
  let pendingKey = '';
  /** Hosts wait for each other only where there are several. */
  const hasSeveralHosts = () => (on.session()?.session.hosts.length ?? 0) > 1;
  /** The `hosts` argument: the hosts with rows, if not all are in memory. */
  const hostsWithRows = () => on.session()?.query.hosts ?? on.session()?.chosen_hosts?.join();
  // Aligned rows are moved by step, so waits would not match their ops.
  const isShown = () => hasSeveralHosts() && Boolean(on.session()?.rows.length) && !model.state.align;
  const loadedOps = () => (loaded?.query === JSON.stringify(on.session()?.query) ? loaded.ops : []);
  const bars = (/** @type {Op[]} */ ops, /** @type {Lane[]} */ lanes) =>
    isShown() ? barsOf(ops, lanes, on.shortName) : [];

  /**
   * A collective; null if hosts do not wait for each other in it, or if the request fails.
   * @param {Record<string, any>} query
   * @returns {Promise<Collective|null>}
   */
  async function fetchCollective(query) {
    if (!hasSeveralHosts()) return null;
    const isCurrent = model.trackSelection();
    try {
      return (await get('collective', { ...on.session()?.query, hosts: hostsWithRows(), ...query })).collective;
    } catch (error) {
      if (isCurrent()) on.failed(/** @type {Error} */ (error));
      return null;
    }
  }

  /**
   * The wait at a point of the canvas.
   * @param {import('./scene.js').Scene} scene
   * @param {number} x
   * @param {number} y
   */
  function waitAt(scene, x, y) {
    const [lane, ps] = [laneAt(scene, y), scene.scale.ps(x)];
    // All lanes decide in which one an op's wait is drawn.
    const barsOfLane = lane ? bars(loadedOps(), scene.lanes).filter((bar) => bar.lane === lane) : [];
    return barsOfLane.find(({ start_ps, until_ps }) => start_ps <= ps && ps < until_ps) ?? null;
  }

  const longText = (/** @type {Bar|null|undefined} */ bar) => (bar ? waitTexts(bar)[0] : '');

  return {
    /** Requests the waits in the shown span unless they are loaded. @param {import('./scale.js').Scale} scale */
    ensure(scale) {
      const { duration } = model;
      const psPerPx = resolution(scale.psPerPx);
      const query = JSON.stringify(on.session()?.query);
      const covers =
        loaded?.query === query &&
        loaded.psPerPx === psPerPx &&
        loaded.start_ps <= Math.max(0, scale.start_ps) &&
        loaded.end_ps >= Math.min(duration, scale.end_ps);
      const span = fetchSpan(scale, scale.psPerPx, duration);
      const key = query + JSON.stringify(span);
      if (!isShown() || covers || key === pendingKey) return;
      pendingKey = key;
      channel
        .get({ ...on.session()?.query, ...span })
        .then((waits) => {
          loaded = { query, ...span, psPerPx, ops: opsOfWaits(waits) };
          pendingKey = '';
          on.arrived();
        })
        .catch(on.failed);
    },
    /** Lets the next frame repeat a failed request. */
    allowRetry() {
      pendingKey = '';
    },
    /** Clears the waits when another session opens. */
    clear() {
      loaded = null;
      pendingKey = '';
      channel.cancel();
    },
    /** The loaded waits in lanes. @param {Lane[]} lanes */
    bars: (lanes) => bars(loadedOps(), lanes),
    /** The ops of the collective that the selected gap delays, in lanes. @param {Lane[]} lanes */
    delayed: (lanes) => bars(model.state.delayed ? opsOfCollective(model.state.delayed) : [], lanes),
    waitAt,
    /**
     * Text of the wait at a point; empty without one.
     * @param {import('./scene.js').Scene} scene
     * @param {number} x
     * @param {number} y
     */
    textAt: (scene, x, y) => longText(waitAt(scene, x, y)),
    /** Text of an op's wait; empty without one. @param {import('./scene.js').DrawnSlice} slice */
    textOf: ({ lane, start_ps }) =>
      longText(lane.row.kind === 'ops' ? bars(loadedOps(), [lane]).find((bar) => bar.start_ps === start_ps) : null),
    /** Opens the op of a core. @param {{device: string, depth: number, start_ps: number}} op */
    async open({ device, depth, start_ps }) {
      const session = on.session();
      const row = session?.rows.find((candidate) => candidate.device === device && candidate.kind === 'ops')?.id;
      const isCurrent = model.trackSelection();
      const event =
        row &&
        (await get('event', { session: session?.session.name, row, depth, start_ps }).catch((error) => {
          if (isCurrent()) on.failed(error);
        }));
      if (event && isCurrent()) on.open(event);
    },
    /**
     * The collective of the op at `start_ps`; null if hosts do not wait for each other in it.
     * @param {string} device
     * @param {number} start_ps
     */
    fetchCollectiveOfOp: (device, start_ps) => fetchCollective({ device, start_ps }),
    /**
     * The collective that a gap delays, which is outlined while the gap is selected.
     * @param {{device: string, start_ps: number, duration_ps: number}} gap
     */
    async fetchDelayed({ device, start_ps, duration_ps }) {
      const isCurrent = model.trackSelection();
      const delayed = await fetchCollective({ device, start_ps, end_ps: start_ps + duration_ps });
      if (isCurrent()) model.set({ delayed });
      return delayed;
    },
  };
}
