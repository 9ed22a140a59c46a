// SPDX-License-Identifier: Apache-2.0
// el('a', {href: '#x'}, 'text', child): an element; strings become text nodes, never markup.
export function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.filter((c) => c !== ''));
  return e;
}
