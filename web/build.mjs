// SPDX-License-Identifier: Apache-2.0
// Makes dist/report.html: page.html with the style and the bundled script inside, and a place for the data.
import { build } from 'esbuild';
import { mkdir, readFile, writeFile } from 'node:fs/promises';

const here = new URL('.', import.meta.url);
const path = (name) => new URL(name, here).pathname;

const { outputFiles } = await build({
  entryPoints: [path('src/main.js')],
  bundle: true,
  minify: true,
  write: false,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
});
const script = outputFiles[0].text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const style = await readFile(path('src/style.css'), 'utf8');
const page = await readFile(path('src/page.html'), 'utf8');
const fill = (text, place, body) => {
  if (text.split(place).length !== 2) throw new Error(`page.html must have ${place} once`);
  return text.replace(place, () => body);
};
await mkdir(path('dist'), { recursive: true });
const licence = await readFile(path('node_modules/echarts/LICENSE'), 'utf8');
const notice = `<!-- Charts by Apache ECharts and ZRender.\n${licence.split('\n').slice(0, 3).join('\n').trim()} -->`;
await writeFile(path('dist/report.html'), fill(fill(fill(page, '/* STYLE */', style), '/* SCRIPT */', script), '<!-- NOTICE -->', notice));
