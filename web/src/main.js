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
  // What to do comes before on what it was measured.
  if (data.advice) top.append(el('p', { class: 'advice', id: 'advice' }, data.advice));
  if (data.subtitle) top.append(el('p', {}, data.subtitle));
  for (const m of data.machines || []) top.append(el('p', {}, machineText(m)));
  document.title = data.title || 'naysay';
}

// Five filters, one chart, three sentences.
function summary() {
  if (!data.summary) return null;
  const section = el('section', { class: 'figure', id: 'summary' }, el('h2', {}, 'In short'),
    ...data.summary.sentences.map((s) => el('p', { class: 'sentence' }, s.replaceAll(' %', '\u00a0%'))));
  const p = data.summary.panel;
  if (!p) return { section };
  const chart = el('div', { class: 'chart', role: 'img', 'aria-label': p.title });
  const legend = el('div', { class: 'legend' });
  const card = el('article', { class: 'panel' }, el('h3', {}, p.title), el('p', { class: 'workload' }, p.workload), legend, chart);
  section.append(card);
  return { section, card, draw: drawChart([chart], legend, [p]) };
}

const tag = (verdict) => el('span', { class: `verdict ${verdict.replaceAll(' ', '-')}` }, verdict);

// Every claim with the paper's value, ours and the verdict; a remark that several have stands once, below.
function claims() {
  if (!data.claims || data.claims.length === 0) return null;
  const notes = [];
  const note = (text) => {
    if (!notes.includes(text)) notes.push(text);
    return notes.indexOf(text) + 1;
  };
  const row = (c) => el('tr', { 'data-verdict': c.verdict },
    el('td', { 'data-label': 'claim' }, c.text),
    el('td', { 'data-label': 'where' }, c.source, ' ', el('a', { href: `#${c.figure}` }, c.figure), c.series ? el('small', {}, ` ${c.series}`) : ''),
    el('td', { 'data-label': 'paper' }, c.published),
    el('td', { 'data-label': 'ours' }, c.ours || '\u2013'),
    el('td', { 'data-label': 'verdict' }, tag(c.verdict),
      c.remark ? el('a', { class: 'note', href: `#note-${note(c.remark)}`, title: c.remark }, String(note(c.remark))) : ''));
  const body = el('tbody', {}, ...data.claims.map(row));
  const filter = el('div', { class: 'legend' });
  const verdicts = [...new Set(data.claims.map((c) => c.verdict))];
  for (const verdict of verdicts) {
    const count = data.claims.filter((c) => c.verdict === verdict).length;
    const button = el('button', { type: 'button', 'aria-pressed': 'true' }, `${verdict} (${count})`);
    button.addEventListener('click', () => {
      const show = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(show));
      for (const tr of body.children) if (tr.dataset.verdict === verdict) tr.hidden = !show;
    });
    filter.append(button);
  }
  const head = ['claim', 'where', 'paper', 'ours', 'verdict'].map((n) => el('th', { scope: 'col' }, n));
  return el('section', { class: 'figure', id: 'claims' }, el('h2', {}, 'Claims of the papers, judged'),
    el('article', { class: 'panel' }, filter, el('table', { class: 'claims' }, el('thead', {}, el('tr', {}, ...head)), body),
      el('ol', { class: 'notes' }, ...notes.map((text, i) => el('li', { id: `note-${i + 1}` }, text))),
      data.unjudged ? el('p', { class: 'workload' }, `${data.unjudged} more claims are about figures that were not measured.`) : ''));
}

function claimsOf(figure) {
  const own = (data.claims || []).filter((c) => c.figure === figure.name && c.verdict !== 'out of reach');
  if (own.length === 0) return '';
  return el('ul', { class: 'judged' }, ...own.map((c) =>
    el('li', {}, tag(c.verdict), ` ${c.text} The paper: ${c.published}; ours: ${c.ours}.`)));
}

const unexplained = (figure) => (figure.deviations || []).some((d) => !d.why);

function contents() {
  const list = el('ol', {});
  if (data.summary) list.append(el('li', {}, el('a', { href: '#summary' }, 'in short')));
  if (data.claims && data.claims.length > 0) list.append(el('li', {}, el('a', { href: '#claims' }, 'claims, judged')));
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
  const box = (label) => el('div', { class: 'chart', role: 'img', 'aria-label': `${figure.title}: ${p.title}${label}` });
  const legend = el('div', { class: 'legend' });
  const boxes = [box('')], panels = [p];
  if (p.strangers) {
    boxes.push(box(', strangers'));
    panels.push({ ...p, curves: p.strangers.curves, published: [], y: { ...p.y, label: `${p.strangers.label}` } });
  }
  const numbers = (table, label) =>
    el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `numbers of ${p.title}${label}` }, makeTable(table));
  const card = el('article', { class: 'panel', id: `${figure.name}-${p.id}`.replaceAll(/[^\w-]+/g, '-') },
    el('h3', {}, p.id && figure.panels.length > 1 ? `${p.id}) ${p.title}` : p.title),
    el('p', { class: 'workload' }, [p.size ? `${p.size} size` : '', p.workload].filter(Boolean).join('; ')),
    legend, boxes[0],
    ...(p.strangers ? [el('h4', { class: 'strangers' }, 'The same filters on strangers'), boxes[1]] : []),
    p.finding ? el('p', { class: 'finding' }, p.finding) : '',
    p.advice ? el('p', { class: 'advice' }, p.advice) : '',
    numbers(p.table, ''),
    ...(p.strangers ? [el('h4', { class: 'strangers' }, 'Strangers'), numbers(p.strangers.table, ', strangers')] : []),
    notes(p));
  return { card, draw: drawChart(boxes, legend, panels) };
}

header();
contents();
const draws = new Map();
const main = document.getElementById('figures');
main.textContent = '';
const short = summary();
if (short) {
  main.append(short.section);
  if (short.card) draws.set(short.card, short.draw);
}
const judged = claims();
if (judged) main.append(judged);
for (const f of data.figures) {
  const section = el('section', { class: 'figure', id: f.name }, el('h2', {}, f.title),
    el('p', { class: 'source' }, [f.name, f.source].filter(Boolean).join(' \u00b7 ')), f.about ? el('p', { class: 'about' }, f.about) : '', claimsOf(f));
  for (const p of f.panels) {
    const { card, draw } = panelCard(f, p);
    section.append(card);
    draws.set(card, draw);
  }
  const missed = deviations(f.deviations);
  if (missed) section.append(missed);
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
