/**
 * Names of annotation paths. As names may contain slashes, not every beginning of a path is a path. The texts are those
 * of `analysis/propagation/path_names.py`; `tests/path_texts.json` has cases for both.
 */

import { groupBy } from './totals.js';

/**
 * The longest of some paths that encloses a path; empty without one.
 * @param {string} path
 * @param {Set<string>} paths
 */
export function outerPath(path, paths) {
  let outer = path;
  do outer = outer.slice(0, Math.max(0, outer.lastIndexOf('/')));
  while (outer && !paths.has(outer));
  return outer;
}

/**
 * The text of a path's last name, without the longest of some paths that encloses it.
 * @param {string} path
 * @param {Set<string>} paths
 */
export const ownName = (path, paths) => pathText(path, outerPath(path, paths));

/**
 * The text of each path: its shortest ending, in whole names, that no other of the paths has: `shard_map/reduce`; the
 * whole path if another one ends with it.
 * @param {Iterable<string|null>} paths null: no annotation
 * @param {Set<string>} annotations paths of all annotations
 * @returns {Map<string, string>} by path
 */
export function shortPathNames(paths, annotations) {
  const endings = [...new Set(paths)].flatMap((path) => (path === null ? [] : [endingsOf(path, annotations)]));
  const groups = groupBy(endings.flat(), String);
  return new Map(
    endings.map((ofPath) => {
      const path = ofPath[ofPath.length - 1];
      const ending = ofPath.find((candidate) => groups.get(candidate)?.length === 1) ?? path;
      return [path, pathText(path, path.slice(0, -ending.length - 1))];
    }),
  );
}

/** The endings of a path in whole names, the path itself last. @param {string} path @param {Set<string>} annotations */
function endingsOf(path, annotations) {
  const endings = [];
  let outer = path;
  do {
    outer = outerPath(outer, annotations);
    endings.push(outer ? path.slice(outer.length + 1) : path);
  } while (outer);
  return endings;
}

/**
 * The text of a path's names after `outer`, a beginning of it. JAX's scopes of differentiation are named by the
 * function: `backward of loss` for `transpose(jvp(loss))`; where the scope names none, by the compiled function around
 * it.
 * @param {string} path
 * @param {string} [outer]
 */
export function pathText(path, outer = '') {
  const segments = path.split('/');
  const first = outer ? outer.split('/').length : 0;
  /** @type {string[]} */
  const texts = [];
  segments.slice(first).forEach((segment, position) => {
    const index = first + position;
    const { transforms, inner } = parse(segment);
    if (!transforms.includes('jvp')) {
      texts.push(segment);
      return;
    }
    if (!inner && position && calledFunction(segments[index - 1])) texts.pop();
    const others = transforms.filter((name) => name !== 'jvp' && name !== 'transpose');
    const subject = inner
      ? others.reduceRight((text, name) => `${name}(${text})`, inner)
      : segments.slice(0, index).map(calledFunction).findLast(Boolean);
    const direction = transforms.includes('transpose') ? 'backward' : 'forward';
    texts.push(subject ? `${direction} of ${subject}` : `${direction} pass`);
  });
  return texts.join('/');
}

/** The transformations in a scope's name, the outermost first, and what they transform. @param {string} segment */
function parse(segment) {
  const transforms = [];
  let inner = segment;
  for (let match; (match = /^(\w+)\((.*)\)$/.exec(inner)); [, , inner] = match) transforms.push(match[1]);
  return { transforms, inner };
}

/** The function in a scope such as `jit(step)`; empty for other scopes. @param {string} segment */
function calledFunction(segment) {
  const { transforms, inner } = parse(segment);
  return transforms.length ? inner : '';
}
