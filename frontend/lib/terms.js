/** The page's terms with their meanings, for the tooltips on hover and focus and for the help dialog. */

/** Meanings by term, as the page writes it. @type {Record<string, string>} */
export const TERMS = {
  starved: 'Nothing was queued when the gap began: the next run was enqueued after that.',
  queued: 'The next run was enqueued before the gap began: the device waited for something else.',
  unknown:
    'The next run was enqueued within 10 µs of the gap’s start, it is not known when, or a launch in between has no ' +
    'recorded run.',
  Cause:
    'Of a gap: the class with most time until the next run was enqueued, and the mistake behind it. ' +
    'Of a compilation: its trigger.',
  Mostly: 'The class with most time; empty if more time has no class.',
  'What the host did': 'What the host did during the whole gap, by class.',
  'IR tracing':
    'The program’s own Python between runtime events. PyTorch/XLA builds the graph then: forward, backward, optimizer.',
  'step marker': 'mark_step(), or the end of a step: prepares the step’s graph and requests its run.',
  'torch.compile': 'Dynamo and AOTAutograd extract a graph.',
  compile: 'XLA compiles a graph into a program.',
  'program load': 'A compiled program is loaded onto the devices.',
  'transfer to device': 'Data is sent to the device.',
  'transfer from device': 'A value is read from the device.',
  dispatch: 'An execute call hands a program to the devices.',
  wait: 'The host waits, for the device or for a lock.',
  input: 'The host loads a batch or waits for one.',
  python: 'Python code that builds no graph.',
  other: 'Runtime events that belong to no other class.',
  unrecorded: 'Nothing was recorded on the threads that drive the device.',
  'usual step': 'The mean of the steps without what happened once.',
  'Duty cycle': 'Busy time over the span from a core’s first to its last run.',
  Stall:
    'Busy time in ops that only wait for asynchronous ones, such as copy-done. Waiting for hosts in a collective is ' +
    'not a stall.',
  'Before or after all runs': 'Idle before the core’s first or after its last run; not part of any gap.',
  'Own time': 'Time of the op or event, excluding those inside it.',
  'op time': 'Own time, summed, of the ops that a step launched. Overview’s device work is the busy time in the step.',
  Compute: 'Op time without collectives, transfers and waits.',
  'Device run': 'From the start to the end of a program’s run on a core, including idle time in between.',
  Queue:
    'How long a run waited for earlier runs on its core (the host’s lead, no fault), or for other jobs of a ' +
    'SparseCore.',
  Own: 'Of a wait for a SparseCore: the part in which it runs this op’s job.',
  'Start-up': 'Of a wait for a SparseCore: the part in which it runs neither this op’s job nor one before it.',
  Hidden: 'The part of an asynchronous op, from start to done, in which the core computes.',
  Joined: 'How a SparseCore’s job was found to be the op’s: by ids, by a flow, or by name and order in time.',
  Overhead: 'Host time of an execution that is neither device run nor queue.',
  Launches: 'Execute calls on the host; each launches a run per core.',
  once: 'It occurred in one step of this capture: its time is shown in place of a share, and it is never critical.',
  critical: 'Gains 30 % or more, and did not happen only once.',
  warning: 'Gains 10 % or more, but less than 30 % unless it happened only once.',
  info: 'Gains less than 10 %.',
  Fix: 'A place in the program that can be changed.',
  Pace: 'The program’s nature: what is slow without any mistake.',
  'Times last': 'The number of collectives at which the host arrived last.',
  'Last in': 'The share of its collectives with other hosts at which the host arrived last.',
  'Others wait': 'How long the other hosts waited for this one in collectives.',
  named: 'The op’s own metadata names its annotation.',
  inferred: 'The annotation was found from the op’s parts or neighbours.',
  backward: 'The op has a name without an annotation, as in the backward pass.',
  unnamed: 'The op has no name of an annotation, and no op of the capture has one.',
  compiler: 'The compiler created the op, or nothing shows to which annotation it belongs.',
  mixed: 'Fused from ops of several annotations: its time is divided among them by their shares.',
  lost: 'An annotation that no op on the device has.',
  Reserved: 'All allocations of a program; what is more than the peak is fragmentation.',
  Activations: 'Values that the annotation’s ops compute, with constants and outputs.',
  Gradients: 'Values that the annotation’s backward pass computes, where JAX names it.',
  Exposed: 'The part of a collective or an asynchronous op in which the core computes nothing else.',
};

const BY_TEXT = new Map(Object.keys(TERMS).map((term) => [term.toLowerCase(), term]));

/** Columns whose words have meanings of their own: a device op's bound `wait` is not the host's class. */
const COLUMNS_OF_OTHER_WORDS = /^Bound by\b/;
/** The columns whose words say how ops are named: elsewhere `backward` is an annotation. */
const COLUMNS_OF_SCOPES = /^(Scope|Named)\b/;

/**
 * The term that a text names, ignoring case, a sort arrow, and all from a comma (`Stall, ms`), a bracket or ` a step`
 * on; null if the text is not a term.
 * @param {string} text
 * @param {string} [head] of the text's column; in columns of other words, the term is that of the head
 */
export function termOf(text, head = '') {
  if (COLUMNS_OF_OTHER_WORDS.test(head)) return termOf(head);
  const plain = text.replace(/[▾▴\s]+$/u, '').trim().toLowerCase();
  if (plain === 'backward' && !COLUMNS_OF_SCOPES.test(head)) return null;
  return BY_TEXT.get(plain) ?? BY_TEXT.get(plain.split(/[,(]| a step/)[0].trim()) ?? null;
}
