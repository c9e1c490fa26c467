/**
 * `npm run pack`: bundles and compresses the page in `frontend/` into `frontend/packed/`.
 *
 * Rolldown builds one script with all modules of the first view, so the first load takes two requests. esbuild would
 * move those that other scripts share into scripts of their own, which costs further requests and one more round trip.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const PAGE = join(import.meta.dirname, 'frontend');
const PACKED = join(PAGE, 'packed');

/** The digest of the page's sources, which `page/packed.py` compares to decide whether the bundles are up to date. */
function digestOfSources() {
  const names = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  const digest = createHash('sha256');
  for (const name of names.filter((file) => /\.(js|css)$/.test(file) && !/^packed\/|(^|\/)\./.test(file)).sort()) {
    const content = readFileSync(join(PAGE, name));
    digest.update(`${name}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/**
 * Builds the entry script, with all modules of the first view; a script for each other view, named after its folder;
 * scripts of the modules that several of those views share; and their source maps, which refer to the modules in
 * `frontend/`.
 * @returns {Promise<[name: string, content: string][]>}
 */
async function buildScripts() {
  const bundle = await rolldown({ input: join(PAGE, 'index.js'), preserveEntrySignatures: 'allow-extension' });
  const { output } = await bundle.generate({
    dir: PACKED, minify: true, sourcemap: true, sourcemapExcludeSources: true,
    // Without this group, Rolldown may move modules that the views share into a further script of the first load.
    codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] },
    chunkFileNames: ({ facadeModuleId, name }) => `${facadeModuleId ? basename(dirname(facadeModuleId)) : name}.js`,
  });
  // Modules from elsewhere would need their licence notices in the bundles.
  const foreign = output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => !id.startsWith(PAGE));
  if (foreign.length) throw new Error(`the page imports modules from outside ${PAGE}: ${foreign.join(', ')}`);
  return output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]);
}

/** A style sheet, with those that it imports in place of the imports. */
function inlineImports(name) {
  return readFileSync(join(PAGE, name), 'utf8')
    .replace(/^@import '\.\/(.+)';$/gm, (_, imported) => inlineImports(imported));
}

/** Writes a file atomically, because a server may be reading it. */
function write(name, content) {
  const temporary = join(PACKED, `.${name}.${process.pid}`);
  writeFileSync(temporary, content);
  renameSync(temporary, join(PACKED, name));
}

const digest = digestOfSources();
const files = [...await buildScripts(), ['index.css', inlineImports('index.css')]];
mkdirSync(PACKED, { recursive: true });
const written = files.flatMap(([name, text]) => {
  // Only developer tools load source maps: one encoding is enough, the one that all of them accept.
  const encodings = name.endsWith('.map') ? { gzip: gzipSync } : { gzip: gzipSync, br: brotliCompressSync };
  return Object.entries(encodings).map(([encoding, compress]) => {
    write(`${name}.${encoding}`, compress(text, { level: 9 }));
    return `${name}.${encoding}`;
  });
});
for (const name of readdirSync(PACKED)) {
  if (!name.startsWith('.') && !written.includes(name)) rmSync(join(PACKED, name), { force: true });
}
write('sources.sha256', digest);
