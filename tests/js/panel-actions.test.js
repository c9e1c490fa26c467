import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPanelActions } from '../../frontend/timeline/panel-actions.js';

test('a step whose times the page has not loaded is named instead of shown', async () => {
  const [opened, notes] = [[], []];
  const app = { link: {}, open: (state) => opened.push(state), addNote: ({ message }) => notes.push(message) };
  const model = { state: {}, trackSelection: () => () => true };
  const steps = { columns: { index: [0, 1], start_ps: [0, 2e9], duration_ps: [2e9, 2e9] } };
  const { details } = createPanelActions(app, model, {
    lanes: {}, gaps: {}, waits: {}, navigation: {}, shownHosts: {}, overview: async () => ({ steps }),
  });
  details.showStep({ step: 1, step_number: 101 });
  details.showStep({ step: 1200, step_number: 1300 });
  await new Promise(setImmediate);
  assert.equal(opened.length, 1);
  assert.deepEqual(notes, ['The page has not loaded the times of step 1300.']);
});
