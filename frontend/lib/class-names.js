/** The classes of host time. Generated from `tb_xla_insights/catalog/classes.py` by `make schema`. */

/** @typedef {import('./routes').ClassName} ClassName */

/** The classes, in the order of their indices in columns. @type {ClassName[]} */
export const CLASSES = [
  'tracing',
  'sync_prepare',
  'dynamo',
  'compile',
  'program_load',
  'to_device',
  'from_device',
  'dispatch',
  'wait',
  'input',
  'python',
  'other',
  'unrecorded',
];

/** Their labels on the page. @type {Record<ClassName, string>} */
export const LABELS = {
  tracing: 'IR tracing',
  sync_prepare: 'step marker',
  dynamo: 'torch.compile',
  compile: 'compile',
  program_load: 'program load',
  to_device: 'transfer to device',
  from_device: 'transfer from device',
  dispatch: 'dispatch',
  wait: 'wait',
  input: 'input',
  python: 'python',
  other: 'other',
  unrecorded: 'unrecorded',
};

/** The label of idle time in gaps too short for a class. */
export const SHORT_GAPS = 'in gaps under 10 µs';

/** The label of gaps in which the device waits for something other than the host. */
export const DEVICE_WAITS = 'device waits';
