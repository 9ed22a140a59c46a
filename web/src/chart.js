// SPDX-License-Identifier: Apache-2.0
// A panel becomes a chart: curves over x, or bars for each filter. Published points are hollow diamonds in the colour of
// the filter they are compared with; levels are dashed lines. A zero has no place on a log axis: a curve has a hollow
// point at the lower edge, a bar a thin mark, and both say 0.
//
// A chart begins with the curves that the tool marks as shown, at most eight; the others are a click away in the legend.
import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { el } from './dom.js';

echarts.use([BarChart, LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

// Colours that differ on white and on black; Bloom is always grey. The symbols differ too.
const kPalette = ['#2f7ed8', '#e07b00', '#1b9e77', '#c2399b', '#7a5cd6', '#b8860b', '#0f9fb5', '#d6453d', '#5f8f1e', '#a0522d',
  '#4f6d9a', '#e0559a', '#3fbf5f', '#9a7bff', '#00c2c7', '#c98500', '#ff7f6a', '#6aa5ff', '#8c6d46', '#b4b800', '#d884e8', '#00916e'];
const kNamed = {
  bloom: '#8a8f98', 'taught-ribbon': '#1b9e77', habf: '#e07b00', 'f-habf': '#d6a13d', xor: '#2f7ed8', ribbon: '#0f9fb5',
  'weighted-bloom': '#7a5cd6', 'stacked-bloom': '#c2399b', seesaw: '#e07b00', 'counting-bloom': '#8a8f98', guarded: '#1b9e77',
  cuckoo: '#2f7ed8', 'stacked-counting-bloom': '#c2399b', 'weighted-counting-bloom': '#7a5cd6', 'ada-seesaw': '#e07b00',
};
const kSymbols = ['circle', 'rect', 'triangle', 'roundRect'];

function ticks(unit) {
  const short = (v) => (v === 0 ? '0' : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(0).replace('e+', 'e') : String(+v.toPrecision(3)));
  const big = (v) => (v >= 1e9 ? `${short(v / 1e9)} G` : v >= 1e6 ? `${short(v / 1e6)} M` : v >= 1e3 ? `${short(v / 1e3)} k` : short(v));
  switch (unit) {
    case 'rate': return (v) => `${v === 0 ? 0 : 100 * v >= 0.001 ? +(100 * v).toPrecision(3) : (100 * v).toExponential(0)} %`;
    case 'nanoseconds': return (v) => (v >= 1e6 ? `${short(v / 1e6)} ms` : v >= 1e3 ? `${short(v / 1e3)} us` : `${short(v)} ns`);
    case 'bytes': return (v) => `${big(v)}B`.replace(/ ?B$/, ' B').replace(/ ([kMG]) B/, ' $1B');
    case 'ratio': return (v) => `${short(v)}x`;
    case 'seconds': return (v) => `${short(v)} s`;
    default: return big;
  }
}
const xTicks = (v) => (Math.abs(v) >= 1e6 ? `${+(v / 1e6).toPrecision(3)} M` : Math.abs(v) >= 1e4 ? `${+(v / 1e3).toPrecision(3)} k` : String(+v.toPrecision(4)));

// A filter has its own colour on every chart, the curves that are shown first choose first, and no two curves share one.
function colours(curves) {
  const map = new Map();
  const used = new Set();
  const take = (curve, colour) => {
    used.add(colour);
    map.set(curve.name, colour);
  };
  const shown = curves.filter((c) => c.shown !== false);
  const others = curves.filter((c) => c.shown === false);
  for (const group of [shown, others]) {
    for (const c of group) if (kNamed[c.filter] && !used.has(kNamed[c.filter])) take(c, kNamed[c.filter]);
    for (const c of group) {
      if (map.has(c.name)) continue;
      let colour = kPalette.find((p) => !used.has(p));
      for (let turn = 0; !colour; ++turn) {
        const made = `hsl(${Math.round(turn * 137.5) % 360} 60% ${turn % 2 ? 38 : 58}%)`;
        if (!used.has(made)) colour = made;
      }
      take(c, colour);
    }
  }
  return map;
}
// Of a curve of strangers: that of the same series of known negatives.
const colourOf = (map, name) => map.get(name) || [...map].find(([other]) => other.startsWith(`${name}: `))?.[1];

const tipRow = (marker, name, text, spread) => {
  const dot = el('i', { style: `width:.7rem;height:.7rem;border-radius:50%;flex:none;display:inline-block;background:${marker}` });
  const value = el('span', {}, text);
  if (spread && spread.low !== spread.high) value.append(el('small', {}, ` (${spread.low} to ${spread.high})`));
  return el('div', {}, el('span', { style: 'display:inline-flex;gap:.4rem;align-items:center' }, dot, name), value);
};
const tip = (title, rows) => el('div', { class: 'tip' }, el('b', {}, title), ...rows);

// The lowest and highest that is drawn, for a log axis: whole decades, and room for zeros below.
function range(panel) {
  const ys = [...panel.curves.flatMap((c) => c.points.map((p) => p.y)), ...panel.published.map((p) => p.y)];
  const positive = ys.filter((y) => y > 0);
  if (positive.length === 0) return { min: 1e-6, max: 1, zero: 1e-6, zeros: true };
  let min = 10 ** Math.floor(Math.log10(Math.min(...positive)) + 1e-9);
  const max = 10 ** Math.ceil(Math.log10(Math.max(...positive)) - 1e-9);
  const zeros = ys.some((y) => !(y > 0));
  if (zeros) min /= 10;
  return { min, max: max === min ? min * 10 : max, zero: min, zeros };
}

// The lower edge is where zeros are drawn: there the axis says 0.
const withZero = (r, format) => (v) => (r.zeros && v <= r.min * 1.0001 ? format(0) : format(v));

function look(theme) {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  return { ink: get('--ink'), soft: get('--soft'), line: get('--line'), grid: get('--grid'), card: get('--card'), accent: get('--accent'), theme };
}

function tooltip(style, extra) {
  return {
    confine: true, appendTo: undefined, backgroundColor: style.card, borderColor: style.line, padding: [6, 10],
    textStyle: { color: style.ink }, ...extra,
  };
}

function valueAxis(style, { name, log, format, min, max }) {
  return {
    type: log ? 'log' : 'value', name, nameLocation: 'middle', nameGap: 30, min, max, scale: !log,
    nameTextStyle: { color: style.soft }, axisLabel: { color: style.soft, formatter: format, hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: style.line } }, axisTick: { lineStyle: { color: style.line } },
    splitLine: { lineStyle: { color: style.grid } },
  };
}

function lines(panel, style, colour) {
  const r = range(panel);
  const place = (y) => (panel.y.log && !(y > 0) ? r.zero : y);
  const series = panel.curves.map((c, i) => ({
    name: c.name, type: 'line', color: colourOf(colour, c.name), symbol: kSymbols[i % kSymbols.length], symbolSize: 7,
    lineStyle: { width: 2, type: c.name.endsWith(': bound') ? 'dashed' : 'solid' }, emphasis: { focus: 'series' }, z: 3,
    data: c.points.map((p) => ({
      value: [p.x, place(p.y)], text: p.text, spread: p.spread,
      itemStyle: panel.y.log && !(p.y > 0) ? { color: style.card, borderColor: colourOf(colour, c.name), borderWidth: 2 } : undefined,
    })),
  }));
  const byCurve = new Map();
  for (const p of panel.published) byCurve.set(p.curve, [...(byCurve.get(p.curve) || []), p]);
  let other = 0;
  const papers = [];
  for (const [curve, points] of byCurve) {
    const own = panel.curves.find((c) => c.name === points[0].series || c.name.startsWith(`${points[0].series}: `));
    const c = own ? colourOf(colour, own.name) : ['#a3a7ae', '#b9a184', '#93a8a0', '#b29bb0'][other++ % 4];
    const name = `${curve} (published)`;
    papers.push({ name, colour: c, off: own && own.shown === false });
    const levels = points.filter((p) => p.x === null);
    const placed = points.filter((p) => p.x !== null).sort((a, b) => a.x - b.x);
    series.push({
      name, type: 'line', color: c, symbol: 'diamond', symbolSize: 13, lineStyle: { color: c, width: 1.2, type: 'dotted' }, z: 4,
      itemStyle: { color: style.card, opacity: 0.9, borderColor: c, borderWidth: 2.5 }, data: placed.map((p) => ({ value: [p.x, place(p.y)], text: `${p.text}, published` })),
      markLine: levels.length === 0 ? undefined : {
        symbol: 'none', lineStyle: { color: c, type: 'dashed', width: 1.5 },
        label: { position: 'insideEndTop', color: style.soft, formatter: curve },
        data: levels.map((p) => ({ yAxis: p.y })), silent: true,
      },
    });
  }
  const format = panel.y.log ? withZero(r, ticks(panel.y.unit)) : ticks(panel.y.unit);
  const option = {
    animation: false,
    grid: { left: 12, right: 22, top: 34, bottom: 36, containLabel: true },
    tooltip: tooltip(style, {
      trigger: 'axis', axisPointer: { type: 'line', lineStyle: { color: style.soft } },
      formatter: (items) => {
        const shown = items.filter((i) => i.data && i.data.text !== undefined);
        shown.sort((a, b) => a.value[1] - b.value[1]);
        return tip(`${xTicks(items[0].value[0])} ${panel.x.label}`, shown.map((i) => tipRow(i.borderColor || i.color, i.seriesName, i.data.text, i.data.spread)));
      },
    }),
    xAxis: { ...valueAxis(style, { name: panel.x.label, log: panel.x.log, format: xTicks }), splitLine: { show: false } },
    yAxis: { ...valueAxis(style, { log: panel.y.log, format, ...(panel.y.log ? { min: r.min, max: r.max } : { min: 0 }) }),
      name: panel.y.label, nameLocation: 'end', nameGap: 14, nameTextStyle: { color: style.soft, align: 'left' }, scale: false },
    series,
  };
  const keys = panel.curves.map((c) => ({ name: c.name, colour: colourOf(colour, c.name), off: c.shown === false }));
  return { option, keys: [...keys, ...papers.map((p) => ({ ...p, paper: true }))] };
}

function bars(panel, style) {
  const names = [];
  const add = (n) => names.includes(n) || names.push(n);
  for (const c of panel.curves) for (const p of c.points) add(p.x);
  for (const p of panel.published) add(p.x);
  const r = range(panel);
  const place = (y) => (panel.y.log && !(y > 0) ? r.zero : y);
  const series = [];
  const keys = [];
  // An empty place would look like a bar that is missing.
  const zero = (y) => (y > 0 ? {} : { zero: true, label: { show: true, position: 'right', distance: 3, color: style.soft, fontSize: 10, formatter: '0' } });
  const marked = (n) => (n === panel.recommended ? `{best|${n}}\n{hint|recommended}` : n);
  panel.curves.forEach((c, i) => {
    const colour = kPalette[i % kPalette.length];
    const at = new Map(c.points.map((p) => [p.x, p]));
    keys.push({ name: c.name, colour });
    series.push({
      name: c.name, type: 'bar', color: colour, barMaxWidth: 14, barGap: '10%', barMinHeight: 2,
      data: names.map((n) => (at.has(n) ? { value: place(at.get(n).y), text: at.get(n).text, spread: at.get(n).spread, ...zero(at.get(n).y) } : null)),
    });
    const papers = panel.published.filter((p) => !p.metric || p.metric === c.name);
    if (papers.length === 0) return;
    const published = new Map(papers.map((p) => [p.x, p]));
    const name = `${c.name} (published)`;
    keys.push({ name, colour, paper: true });
    series.push({
      name, type: 'bar', color: colour, barMaxWidth: 14,
      itemStyle: { color: 'transparent', borderColor: colour, borderWidth: 1.5, borderType: 'dashed' },
      data: names.map((n) => (published.has(n) ? { value: place(published.get(n).y), text: `${published.get(n).text}, published` } : null)),
    });
  });
  const format = panel.y.log ? withZero(r, ticks(panel.y.unit)) : ticks(panel.y.unit);
  const option = {
    animation: false,
    grid: { left: 8, right: 24, top: 8, bottom: 36, containLabel: true },
    tooltip: tooltip(style, {
      trigger: 'axis', axisPointer: { type: 'shadow' },
      formatter: (items) => tip(items[0].name, items.filter((i) => i.data && i.data.text !== undefined)
        .map((i) => tipRow(i.color === 'transparent' ? i.borderColor : i.color, i.seriesName, i.data.text, i.data.spread))),
    }),
    xAxis: { startValue: panel.y.log ? r.min : 0, ...valueAxis(style, { name: panel.y.label, log: panel.y.log, format, ...(panel.y.log ? { min: r.min, max: r.max } : { min: 0 }) }) },
    yAxis: {
      type: 'category', data: names, inverse: true, axisLabel: { color: style.ink, interval: 0, formatter: marked, rich: { best: { color: style.accent, fontWeight: 'bold' }, hint: { color: style.accent, fontSize: 10 } } },
      axisLine: { lineStyle: { color: style.line } }, axisTick: { show: false },
    },
    series,
  };
  const rows = names.length * Math.max(1, series.length) * 13 + names.length * 8 + 70;
  return { option, keys, height: Math.max(180, rows) };
}

// Returns draw(theme): makes the charts, or makes them again in another theme. One legend for all: a box for known negatives
// and one for strangers show the same filters.
export function drawChart(boxes, legend, panels) {
  const charts = boxes.map(() => null);
  const colour = panels[0].chart === 'bars' ? null : colours(panels[0].curves);
  let hidden = null;
  return (theme) => {
    const style = look(theme);
    const made = panels.map((p) => (p.chart === 'bars' ? bars(p, style) : lines(p, style, colour)));
    const { keys } = made[0];
    if (!hidden) hidden = new Set(keys.filter((k) => k.off).map((k) => k.name));
    // "habf: measured" hides with it the strangers of habf once no curve of habf is left.
    const isHidden = (name) => {
      if (keys.some((k) => k.name === name)) return hidden.has(name);
      const own = keys.filter((k) => k.name.startsWith(`${name}: `));
      return own.length > 0 && own.every((k) => hidden.has(k.name));
    };
    const select = (i) => Object.fromEntries(made[i].option.series.map((s) => [s.name, !isHidden(s.name)]));
    made.forEach(({ option, height }, i) => {
      if (height) boxes[i].style.height = `${height}px`;
      if (!charts[i]) {
        charts[i] = echarts.init(boxes[i], null, { renderer: 'svg' });
        new ResizeObserver(() => charts[i].resize()).observe(boxes[i]);
      }
      option.legend = { show: false, selected: select(i) };
      charts[i].setOption(option, true);
      boxes[i].dataset.drawn = 'yes';
    });
    legend.textContent = '';
    const buttons = new Map();
    const update = () => {
      for (const [name, button] of buttons) button.setAttribute('aria-pressed', String(!hidden.has(name)));
      charts.forEach((chart, i) => chart.setOption({ legend: { selected: select(i) } }));
    };
    for (const k of [...keys.filter((k) => !k.off), ...keys.filter((k) => k.off)]) {
      const key = el('i', { style: k.paper ? `border-color:${k.colour}` : `background:${k.colour}`, class: k.paper ? 'paper' : 'own' });
      const button = el('button', { type: 'button', 'aria-pressed': String(!hidden.has(k.name)) }, key, k.name);
      button.addEventListener('click', () => {
        if (!hidden.delete(k.name)) hidden.add(k.name);
        update();
      });
      buttons.set(k.name, button);
      legend.append(button);
    }
    const off = keys.filter((k) => k.off).map((k) => k.name);
    if (off.length > 0) {
      const all = el('button', { type: 'button', class: 'all' }, `show ${off.length} more`);
      all.addEventListener('click', () => {
        const show = off.some((name) => hidden.has(name));
        for (const name of off) show ? hidden.delete(name) : hidden.add(name);
        all.textContent = show ? `hide ${off.length}` : `show ${off.length} more`;
        update();
      });
      legend.append(all);
    }
  };
}
