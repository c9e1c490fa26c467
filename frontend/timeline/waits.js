/**
 * Where cores wait in collectives for other hosts: brought for what the lanes show, and of one collective for all who
 * take part.
 */

import { get, createLatestChannel } from '../lib/api.js';
import { timeText } from '../lib/format.js';
import { fetchSpan, resolution } from './scale.js';
import { laneAt } from './scene.js';

/** @typedef {import('../lib/routes').Waits} Waits */
/** @typedef {import('../lib/routes').CollectiveArrivals} Collective */
/** @typedef {import('./layout.js').Lane} Lane */
/**
 * The op of a collective on a core, which waits `until_ps` for the last host.
 * @typedef {object} Op
 * @property {string} device
 * @property {number} depth
 * @property {number} start_ps
 * @property {number} until_ps
 * @property {number} end_ps
 * @property {string} name
 * @property {string} last_host
 */
/** An op as drawn; `late` is the short name of the last host. @typedef {Op & {lane: Lane, late: string}} Bar */

/** @param {Waits} waits @returns {Op[]} */
export const opsOfWaits = ({ names, device, depth, start_ps, waits_ps, end_ps, name, last_host }) =>
  device.map((id, at) => ({
    device: id,
    depth: depth[at],
    start_ps: start_ps[at],
    until_ps: start_ps[at] + waits_ps[at],
    end_ps: end_ps[at],
    name: names[name[at]],
    last_host: names[last_host[at]],
  }));

/** @param {Collective} collective @returns {Op[]} */
export const opsOfCollective = ({ name, last_host, cores: { device, depth, start_ps, waits_ps, end_ps } }) =>
  device.map((id, at) => ({
    device: id,
    depth: depth[at],
    start_ps: start_ps[at],
    until_ps: start_ps[at] + waits_ps[at],
    end_ps: end_ps[at],
    name,
    last_host,
  }));

/**
 * Ops with the lanes that show them: that of the device's ops, or of its runs where those are all that is shown of it.
 * @param {Op[]} ops @param {Lane[]} lanes @param {(host: string) => string} short @returns {Bar[]}
 */
export function barsOf(ops, lanes, short) {
  const deviceLanes = lanes.filter(({ kind, row }) => kind === 'slices' && row.device);
  const keyOf = (/** @type {Lane} */ { row, depth }) => `${depth} ${row.device}`;
  const [runs, shown] = ['modules', 'ops'].map(
    (kind) => new Map(deviceLanes.filter(({ row }) => row.kind === kind).map((lane) => [keyOf(lane), lane])),
  );
  return ops.flatMap((op) => {
    const lane =
      shown.get(`${op.depth} ${op.device}`) ?? (shown.has(`0 ${op.device}`) ? undefined : runs.get(`0 ${op.device}`));
    return lane ? [{ ...op, lane, late: short(op.last_host) }] : [];
  });
}

/** Texts for a wait, longest first. @param {Pick<Bar, 'start_ps'|'until_ps'|'late'>} bar */
export function waitTexts({ start_ps, until_ps, late }) {
  const wait = `waits ${timeText(until_ps - start_ps, 1)}`;
  return [`${wait} for ${late}`, wait];
}

/**
 * From the late host's op to where the waiting for it ends, one arrow for each other host.
 * @param {Bar[]} bars of one collective
 * @param {string} device where the arrows begin, if it is among them
 * @returns {import('./paint.js').Arrow[]}
 */
export function waitArrows(bars, device) {
  const late = bars.filter(({ lane, last_host }) => lane.row.host === last_host);
  const from = late.find((bar) => bar.device === device) ?? late[0];
  const waiting = bars.filter(({ start_ps, until_ps }) => until_ps > start_ps);
  const first = waiting.filter(
    ({ lane }, at) => waiting.findIndex((bar) => bar.lane.row.host === lane.row.host) === at,
  );
  const endpoint = (/** @type {Lane} */ { row, depth }, /** @type {number} */ ps) => ({
    row: row.id,
    depth,
    start_ps: ps,
    end_ps: ps,
  });
  return from
    ? first.map(({ lane, until_ps }) => ({ from: endpoint(from.lane, from.start_ps), to: endpoint(lane, until_ps) }))
    : [];
}

/**
 * @param {import('./model.js').Model} model
 * @param {object} on
 * @param {() => import('../lib/types').Ready|null} on.session
 * @param {(host: string) => string} on.short
 * @param {() => void} on.arrived
 * @param {(error: Error) => void} on.failed
 * @param {(brief: import('../lib/routes').EventSummary) => void} on.open
 */
export function createWaits(model, on) {
  const channel = createLatestChannel('waits');
  /**
   * The loaded ops with their session, span and time per pixel.
   * @type {{of: string, start_ps: number, end_ps: number, step: number, ops: Op[]}|null}
   */
  let loaded = null;
  let pendingKey = '';
  /** Hosts wait for each other only where there are several. */
  const hasSeveralHosts = () => (on.session()?.session.hosts.length ?? 0) > 1;
  /** Hosts with rows, if not all are in memory; a single one follows from the device. */
  const hostsWithRows = () => on.session()?.of.hosts ?? on.session()?.chosen_hosts?.join();
  // Aligned rows move by their own steps, so waits would not match the ops.
  const isShown = () => hasSeveralHosts() && Boolean(on.session()?.rows.length) && !model.state.align;
  const current = () => (loaded?.of === JSON.stringify(on.session()?.of) ? loaded.ops : []);
  const bars = (/** @type {Op[]} */ ops, /** @type {Lane[]} */ lanes) =>
    isShown() ? barsOf(ops, lanes, on.short) : [];

  /** @param {Record<string, any>} query @returns {Promise<Collective|null>} */
  async function fetchCollective(query) {
    if (!hasSeveralHosts()) return null;
    const stays = model.stays();
    try {
      return (await get('collective', { ...on.session()?.of, hosts: hostsWithRows(), ...query })).collective;
    } catch (error) {
      if (stays()) on.failed(/** @type {Error} */ (error));
      return null;
    }
  }

  /**
   * The wait under a point of the canvas.
   * @param {import('./scene.js').Scene} scene
   * @param {number} x
   * @param {number} y
   */
  function waitAt(scene, x, y) {
    const [lane, ps] = [laneAt(scene, y), scene.scale.ps(x)];
    return (
      bars(current(), lane ? [lane] : []).find(({ start_ps, until_ps }) => start_ps <= ps && ps < until_ps) ?? null
    );
  }

  const textOf = (/** @type {Bar|null|undefined} */ bar) => (bar ? waitTexts(bar)[0] : '');

  return {
    /** @param {import('./scale.js').Scale} scale */
    want(scale) {
      const { duration } = model;
      const step = resolution(scale.psPerPx);
      const of = JSON.stringify(on.session()?.of);
      const covers =
        loaded?.of === of &&
        loaded.step === step &&
        loaded.start_ps <= Math.max(0, scale.start_ps) &&
        loaded.end_ps >= Math.min(duration, scale.end_ps);
      const span = fetchSpan(scale, scale.psPerPx, duration);
      const key = of + JSON.stringify(span);
      if (!isShown() || covers || key === pendingKey) return;
      pendingKey = key;
      channel
        .get({ ...on.session()?.of, ...span })
        .then((waits) => {
          loaded = { of, ...span, step, ops: opsOfWaits(waits) };
          pendingKey = '';
          on.arrived();
        })
        .catch(on.failed);
    },
    /** Lets the next frame repeat a failed request. */
    again() {
      pendingKey = '';
    },
    /** Clears the waits when another session opens. */
    clear() {
      loaded = null;
      pendingKey = '';
      channel.cancel();
    },
    /** The loaded waits. @param {Lane[]} lanes */
    bars: (lanes) => bars(current(), lanes),
    /** The collective that the selected gap delays. @param {Lane[]} lanes */
    delayed: (lanes) => bars(model.state.delayed ? opsOfCollective(model.state.delayed) : [], lanes),
    at: waitAt,
    /** Text of the wait under a point. @param {import('./scene.js').Scene} scene @param {number} x @param {number} y */
    textAt: (scene, x, y) => textOf(waitAt(scene, x, y)),
    /** Text of an op that waits. @param {import('./scene.js').DrawnSlice} found */
    textOf: ({ lane, start_ps }) =>
      textOf(lane.row.kind === 'ops' ? bars(current(), [lane]).find((bar) => bar.start_ps === start_ps) : null),
    /** Selects the op of a core. @param {{device: string, depth: number, start_ps: number}} op */
    async open({ device, depth, start_ps }) {
      const session = on.session();
      const row = session?.rows.find((candidate) => candidate.device === device && candidate.kind === 'ops')?.id;
      const stays = model.stays();
      const event =
        row &&
        (await get('event', { session: session?.session.name, row, depth, start_ps }).catch((error) => {
          if (stays()) on.failed(error);
        }));
      if (event && stays()) on.open(event);
    },
    /**
     * The collective of the op at `start_ps`; null if hosts do not wait for each other in it.
     * @param {string} device
     * @param {number} start_ps
     */
    ofOp: (device, start_ps) => fetchCollective({ device, start_ps }),
    /**
     * The collective that a gap delays, which is marked while the gap is selected.
     * @param {{device: string, start_ps: number, duration_ps: number}} gap
     */
    async ofGap({ device, start_ps, duration_ps }) {
      const stays = model.stays();
      const delayed = await fetchCollective({ device, start_ps, end_ps: start_ps + duration_ps });
      if (stays()) model.set({ delayed });
      return delayed;
    },
  };
}
