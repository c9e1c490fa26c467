/**
 * `npm run pack`: bundles and compresses the page in `frontend/` into `frontend/packed/`, once more as a single HTML
 * file.
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
const STATIC_PAGE = 'static.html';

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
  const output = await bundle('index.js', {
    dir: PACKED, sourcemap: true, sourcemapExcludeSources: true,
    // Without this group, Rolldown may move modules that the views share into a further script of the first load.
    codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] },
    chunkFileNames: ({ facadeModuleId, name }) => `${facadeModuleId ? basename(dirname(facadeModuleId)) : name}.js`,
  });
  return output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]);
}

/**
 * @param {string} entry
 * @param {import('rolldown').OutputOptions} options
 * @param {import('rolldown').Plugin} [plugin]
 */
async function bundle(entry, options, plugin) {
  const build = await rolldown({
    input: join(PAGE, entry), preserveEntrySignatures: 'allow-extension', plugins: plugin });
  const { output } = await build.generate({ minify: true, ...options });
  // Modules from elsewhere would need their licence notices in the bundles.
  const foreign = output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => !id.startsWith(PAGE));
  if (foreign.length) throw new Error(`the page imports modules from outside ${PAGE}: ${foreign.join(', ')}`);
  return output;
}

/** Replaces dynamic imports, for which Rolldown would add a module of its own to a single script. */
const importStatically = {
  name: 'import-statically',
  transform(code) {
    const modules = [...new Set([...code.matchAll(/await import\(('.+?')\)/g)].map(([, module]) => module))];
    const imports = modules.map((module, at) => `import * as module${at} from ${module};`);
    return [
      ...imports,
      code.replaceAll(/await import\(('.+?')\)/g, (_, module) => `module${modules.indexOf(module)}`),
    ].join('\n');
  },
};

/**
 * The page as one HTML document that requests nothing, whatever a capture contains. `static_copy/document.py` puts the
 * answers in place of `@answers@`.
 */
async function buildStaticPage() {
  const [{ code }] = await bundle('static-copy/main.js', { codeSplitting: false }, importStatically);
  // Within a script element, these would end it or hide its end.
  const script = code.replaceAll(/<(?=\/script|script|!--)/gi, '\\x3c');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>XLA Insights</title>
<style>${inlineImports('index.css')}</style>
<body>
<script id="answers" type="text/plain">@answers@</script>
<script type="module">${script}</script>
`;
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
write(STATIC_PAGE, await buildStaticPage());
const written = files.flatMap(([name, text]) => {
  // Only developer tools load source maps: one encoding is enough, the one that all of them accept.
  const encodings = name.endsWith('.map') ? { gzip: gzipSync } : { gzip: gzipSync, br: brotliCompressSync };
  return Object.entries(encodings).map(([encoding, compress]) => {
    write(`${name}.${encoding}`, compress(text, { level: 9 }));
    return `${name}.${encoding}`;
  });
});
for (const name of readdirSync(PACKED)) {
  if (!name.startsWith('.') && name !== STATIC_PAGE && !written.includes(name)) {
    rmSync(join(PACKED, name), { force: true });
  }
}
write('sources.sha256', digest);
