// SPDX-License-Identifier: Apache-2.0
// The page: reads the data that the tool put into it, and draws. It works out nothing: numbers, texts, deviations and
// advice come from the tool. Text from the data only ever becomes text nodes.
import { drawChart } from './chart.js';
import { el } from './dom.js';
import { makeTable } from './table.js';
import { currentTheme, toggleTheme, watchTheme } from './theme.js';

const data = JSON.parse(document.getElementById('data').textContent);

function machineText(m) {
  const cores = m.cores ? `, ${m.cores} cores` : '';
  return `${m.cpu}${cores}, ${m.simd}; compiler ${m.compiler}; naysay ${m.naysay}, commit ${m.commit}`;
}

function header() {
  const theme = el('button', { class: 'theme', type: 'button' }, 'Dark or light');
  theme.addEventListener('click', toggleTheme);
  const top = document.getElementById('top');
  top.append(theme, el('h1', {}, data.title || 'naysay'));
  if (data.subtitle) top.append(el('p', {}, data.subtitle));
  for (const m of data.machines || []) top.append(el('p', {}, machineText(m)));
  if (data.advice) top.append(el('p', { class: 'advice' }, data.advice));
  document.title = data.title || 'naysay';
}

const unexplained = (figure) => figure.panels.some((p) => (p.deviations || []).some((d) => !d.why));

function contents() {
  const list = el('ol', {});
  for (const f of data.figures) {
    const mark = unexplained(f) ? el('span', { class: 'mark', title: 'a deviation without a reason' }, ' !') : '';
    list.append(el('li', {}, el('a', { href: `#${f.name}`, title: f.title }, f.name, mark)));
  }
  document.getElementById('contents').append(list);
}

function deviations(list) {
  if (!list || list.length === 0) return '';
  const items = list.map((d) =>
    el('li', d.why ? {} : { class: 'unexplained' }, d.why || 'Unexplained.', el('ul', {}, ...d.points.map((t) => el('li', {}, t)))));
  return el('div', { class: 'deviations' }, el('h4', {}, 'More than 20 % from what was published'), el('ul', {}, ...items));
}

function notes(p) {
  const list = [...(p.problems || [])];
  if (p.unmeasured && p.unmeasured.length > 0) list.push(`Not measured: ${p.unmeasured.join(', ')}`);
  return list.length > 0 ? el('ul', { class: 'problems' }, ...list.map((t) => el('li', {}, t))) : '';
}

function panelCard(figure, p) {
  const chart = el('div', { class: 'chart', role: 'img', 'aria-label': `${figure.title}: ${p.title}` });
  const legend = el('div', { class: 'legend' });
  const card = el('article', { class: 'panel', id: `${figure.name}-${p.id}`.replaceAll(/[^\w-]+/g, '-') },
    el('h3', {}, p.id && figure.panels.length > 1 ? `${p.id}) ${p.title}` : p.title),
    el('p', { class: 'workload' }, [p.size ? `${p.size} size` : '', p.workload].filter(Boolean).join('; ')),
    chart, legend,
    p.finding ? el('p', { class: 'finding' }, p.finding) : '',
    p.advice ? el('p', { class: 'advice' }, p.advice) : '',
    deviations(p.deviations),
    el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `numbers of ${p.title}` }, makeTable(p.table)),
    notes(p));
  return { card, draw: drawChart(chart, legend, p) };
}

header();
contents();
const draws = new Map();
const main = document.getElementById('figures');
main.textContent = '';
for (const f of data.figures) {
  const section = el('section', { class: 'figure', id: f.name }, el('h2', {}, f.title),
    el('p', { class: 'source' }, [f.name, f.source].filter(Boolean).join(' \u00b7 ')), f.about ? el('p', { class: 'about' }, f.about) : '');
  for (const p of f.panels) {
    const { card, draw } = panelCard(f, p);
    section.append(card);
    draws.set(card, draw);
  }
  main.append(section);
}
// A chart is drawn when it comes near the window: a page of sixty charts then opens immediately.
const drawn = new Set();
const drawNow = (card) => {
  drawn.add(card);
  draws.get(card)(currentTheme());
};
const near = new IntersectionObserver((entries) => {
  for (const entry of entries)
    if (entry.isIntersecting && !drawn.has(entry.target)) drawNow(entry.target);
}, { rootMargin: '600px' });
for (const card of draws.keys()) near.observe(card);
watchTheme((theme) => {
  for (const card of drawn) draws.get(card)(theme);
});
addEventListener('beforeprint', () => {
  for (const card of draws.keys()) drawNow(card);
});
