// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the system says, until the reader says otherwise.
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let chosen = null;

export const currentTheme = () => chosen || (system.matches ? 'dark' : 'light');

function apply() {
  document.documentElement.dataset.theme = currentTheme();
  for (const f of listeners) f(currentTheme());
}
export function toggleTheme() {
  chosen = currentTheme() === 'dark' ? 'light' : 'dark';
  apply();
}
export const watchTheme = (f) => listeners.push(f);
system.addEventListener('change', apply);
apply();
