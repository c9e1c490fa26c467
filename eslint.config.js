/** The rules of `npm run lint` for the page, its packer and their tests. */

import js from '@eslint/js';
import globals from 'globals';

export default [
  { ignores: ['frontend/packed/**', 'build/**', 'dist/**', '.make/**', '.venv/**'] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      curly: ['error', 'multi-line'],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-len': ['error', { code: 120, ignoreUrls: true }],
      'no-shadow': 'error',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      'prefer-const': ['error', { destructuring: 'all' }],
    },
  },
  { files: ['frontend/**/*.js'], languageOptions: { globals: globals.browser } },
  { files: ['pack.js', 'eslint.config.js', 'tests/js/**/*.js'], languageOptions: { globals: globals.node } },
];
