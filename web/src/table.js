// SPDX-License-Identifier: Apache-2.0
// A table whose rows can be put in the order of any column: numbers by value, words by letters, empty cells last.
import { el } from './dom.js';

export function makeTable({ columns, rows }) {
  const body = el('tbody', {});
  const headers = columns.map((name, i) => {
    const button = el('button', { type: 'button' }, String(name));
    const th = el('th', { scope: 'col', 'aria-sort': 'none' }, button);
    button.addEventListener('click', () => {
      const order = th.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
      for (const h of headers) h.setAttribute('aria-sort', 'none');
      th.setAttribute('aria-sort', order);
      show([...rows].sort((a, b) => compare(a[i].v, b[i].v, order === 'ascending' ? 1 : -1)));
    });
    return th;
  });
  const show = (list) => {
    body.textContent = '';
    for (const row of list)
      body.append(el('tr', {}, ...row.map((c) => el('td', c.hint ? { title: c.hint } : {}, c.t === '' ? '\u2013' : c.t))));
  };
  show(rows);
  return el('table', {}, el('thead', {}, el('tr', {}, ...headers)), body);
}

function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
}
