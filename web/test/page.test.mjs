// SPDX-License-Identifier: Apache-2.0
// The page in a real browser: a sample of results becomes a page, and the page is looked at as a reader would.
//
// NAYSAY       the tool, built with the page inside
// SCREENSHOTS  where pictures go
// CHROMIUM     the browser, if it is not found by its name
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const here = new URL('.', import.meta.url).pathname;
const naysay = process.env.NAYSAY || join(here, '../../build/release/cli/naysay');
const shots = process.env.SCREENSHOTS || join(here, 'screenshots');
const folder = mkdtempSync(join(tmpdir(), 'naysay-page-'));
const sample = join(here, 'sample.jsonl');
const report = join(folder, 'report.html');
const kept = join(folder, 'kept.html');  // of all that is kept in docs/results
const compared = join(folder, 'own.html');  // of a user's own keys

let browser;
const problems = [];

const executablePath = process.env.CHROMIUM || ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

async function open(file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.on('console', (m) => m.type() === 'error' && problems.push(m.text()));
  page.on('pageerror', (e) => problems.push(e.message));
  page.on('request', (r) => r.url() !== pathToFileURL(file).href && problems.push(`fetched ${r.url()}`));
  page.on('dialog', (d) => {
    problems.push('a dialog');
    d.dismiss();
  });
  await page.goto(pathToFileURL(file).href);
  return page;
}

// Scrolls to every chart and waits until it is drawn.
async function drawAll(page) {
  const charts = page.locator('.chart');
  const count = await charts.count();
  for (let i = 0; i < count; ++i) {
    await charts.nth(i).scrollIntoViewIfNeeded();
    await charts.nth(i).locator('svg').waitFor();
  }
  return count;
}

before(async () => {
  mkdirSync(shots, { recursive: true });
  execFileSync(naysay, ['report', sample, '-o', report]);
  execFileSync(naysay, ['report', join(here, '../../docs/results/quick.jsonl'), '-o', kept]);
  const own = (first, ...more) => execFileSync(naysay, ['generate', 'urls', '--count', '3000', '--first', String(first), ...more]);
  own(0, '-o', join(folder, 'own-keys.txt'));
  own(3000, '--zipf', '1', '-o', join(folder, 'own-negatives.tsv'));
  execFileSync(naysay, ['compare', '--keys', join(folder, 'own-keys.txt'), '--negatives', join(folder, 'own-negatives.tsv'),
    '--bits-per-key', '12', '--filters', 'bloom,xor,cuckoo,ribbon,habf,stacked-bloom,taught-ribbon', '--html', compared]);
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});
after(() => browser && browser.close());

test('renders every chart of a sample result, with its table, advice and published points', async () => {
  const page = await open(report);
  const figures = new Set(readFileSync(sample, 'utf8').trim().split('\n').map((l) => JSON.parse(l).experiment));
  assert.equal(await page.locator('section.figure:not(#summary):not(#claims)').count(), figures.size);
  await drawAll(page);
  const panels = page.locator('section.figure:not(#summary):not(#claims) .panel');
  const count = await panels.count();
  assert.ok(count >= figures.size);
  for (let i = 0; i < count; ++i) {
    const panel = panels.nth(i);
    assert.ok((await panel.locator('svg path').count()) > 3, `chart ${i} has no marks`);
    assert.ok((await panel.locator('tbody tr').count()) > 0, `chart ${i} has no table`);
    assert.ok((await panel.locator('.advice').innerText()).length > 10, `chart ${i} has no advice`);
    assert.ok((await panel.locator('.legend button').count()) > 0, `chart ${i} has no legend`);
  }
  assert.ok((await page.locator('.legend button', { hasText: 'HABF (published)' }).count()) > 0);
  await page.screenshot({ path: join(shots, 'light.png'), fullPage: true });
  await page.close();
});

test('explains each deviation, and one without a reason cannot be overlooked', async () => {
  const page = await open(report);
  assert.ok((await page.locator('.deviations li').count()) > 0);
  assert.equal(await page.locator('.deviations .unexplained').count(), 0, 'the experiments have a reason for each');
  await page.close();
  // Take the reasons away: the page must shout.
  const bare = join(folder, 'bare.html');
  writeFileSync(bare, readFileSync(report, 'utf8').replaceAll(/"why":"[^"]*"/g, '"why":""'));
  const shouting = await open(bare);
  assert.ok((await shouting.locator('.deviations .unexplained').count()) > 0);
  assert.ok((await shouting.locator('nav .mark').count()) > 0);
  await shouting.locator('.unexplained').first().scrollIntoViewIfNeeded();
  await shouting.screenshot({ path: join(shots, 'unexplained.png') });
  await shouting.close();
});

test('shows values in tooltips', async () => {
  const page = await open(report);
  for (const kind of ['habf-fig10-a', 'habf-fig12-a']) {
    const chart = page.locator(`#${kind} .chart`).first();
    await chart.scrollIntoViewIfNeeded();
    await chart.locator('svg').waitFor();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width / 2 - 3, box.y + box.height / 2);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.locator(`#${kind} .tip`).first();
    await tip.waitFor({ state: 'visible' });
    assert.match(await tip.innerText(), kind === 'habf-fig10-a' ? /bloom[\s\S]*%/ : /\dx/);
  }
  await page.screenshot({ path: join(shots, 'tooltip.png') });
  await page.close();
});

test('sorts a table by any column, both ways', async () => {
  const page = await open(report);
  const table = page.locator('#habf-fig12-a table');
  const column = async () => (await table.locator('tbody tr td:nth-child(2)').allInnerTexts()).map((t) => parseFloat(t) * (t.includes('us') ? 1000 : 1));
  const sorted = (list, sign) => list.every((v, i) => i === 0 || sign * (v - list[i - 1]) >= 0);
  await table.locator('th:nth-child(2) button').click();
  assert.ok(sorted(await column(), 1));
  assert.equal(await table.locator('th:nth-child(2)').getAttribute('aria-sort'), 'ascending');
  await table.locator('th:nth-child(2) button').click();
  assert.ok(sorted(await column(), -1));
  await table.locator('th:nth-child(1) button').click();
  const names = await table.locator('tbody tr td:nth-child(1)').allInnerTexts();
  assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
  await page.close();
});

test('hides a curve when its key is pressed', async () => {
  const page = await open(report);
  const panel = page.locator('#habf-fig10-a');
  await panel.scrollIntoViewIfNeeded();
  await panel.locator('svg').first().waitFor();
  const marks = await panel.locator('svg path').count();
  const key = panel.locator('.legend button').first();
  await key.click();
  assert.equal(await key.getAttribute('aria-pressed'), 'false');
  assert.ok((await panel.locator('svg path').count()) < marks);
  await page.close();
});

test('is readable on a phone: nothing is wider than the window', async () => {
  const page = await open(report, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
  await drawAll(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(shots, 'phone.png') });
  await page.locator('#habf-fig10-a').scrollIntoViewIfNeeded();
  await page.locator('#habf-fig10-a').screenshot({ path: join(shots, 'phone-chart.png') });
  await page.close();
});

test('follows the system into the dark, and the reader out of it', async () => {
  const page = await open(report, { colorScheme: 'dark' });
  const dark = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await dark(), 'dark');
  await drawAll(page);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(shots, 'dark.png') });
  await page.locator('button.theme').click();
  assert.equal(await dark(), 'light');
  await page.close();
});

// At the sizes of a desktop and of a phone, with pictures of both.
const kSizes = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
};

for (const [name, size] of Object.entries(kSizes)) {
  test(`opens with five filters, one chart, three sentences and the judged claims (${name})`, async () => {
    const page = await open(kept, size);
    const first = page.locator('main > section').first();
    assert.equal(await first.getAttribute('id'), 'summary');
    assert.equal(await first.locator('.sentence').count(), 3);
    assert.equal(await first.locator('.chart').count(), 1);
    await first.locator('.chart svg').waitFor();
    const drawn = await first.locator('svg').innerText().catch(() => '') || (await first.locator('svg').textContent());
    for (const filter of ['Bloom', 'HABF', 'stacked', 'ribbon', 'taught ribbon']) assert.match(drawn, new RegExp(filter));
    const claims = page.locator('main > section').nth(1);
    assert.equal(await claims.getAttribute('id'), 'claims');
    const rows = claims.locator('tbody tr');
    const count = await rows.count();
    assert.ok(count > 50);
    const verdicts = await claims.locator('tbody .verdict').allInnerTexts();
    assert.equal(verdicts.length, count, 'no line without a verdict');
    for (const v of verdicts) assert.ok(['confirmed', 'contradicted', 'out of reach'].includes(v), v);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= size.viewport.width);
    await page.screenshot({ path: join(shots, `summary-${name}.png`) });
    await claims.scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(shots, `claims-${name}.png`) });
    // A verdict can be left out, and every note that a claim refers to is there, once.
    await claims.locator('button', { hasText: 'confirmed' }).first().click();
    assert.equal(await claims.locator('tbody tr:visible .verdict.confirmed').count(), 0);
    const notes = await claims.locator('.notes li').allInnerTexts();
    assert.equal(new Set(notes).size, notes.length);
    for (const link of await claims.locator('a.note').evaluateAll((all) => all.map((a) => a.getAttribute('href'))))
      assert.equal(await claims.locator(link).count(), 1, link);
    await page.close();
  });

  test(`begins a chart with at most eight curves, none alike, and the others a click away (${name})`, async () => {
    const page = await open(kept, size);
    const panel = page.locator('#space-limit-a');
    await panel.scrollIntoViewIfNeeded();
    await panel.locator('svg').first().waitFor();
    const pressed = panel.locator('.legend button[aria-pressed="true"]');
    const all = panel.locator('.legend button[aria-pressed]');
    const many = await all.count();
    assert.ok(many > 20, 'this chart has many curves');
    assert.equal(await pressed.count(), 8);
    const colours = () => all.locator('i').evaluateAll((keys) => keys.map((k) => getComputedStyle(k).backgroundColor));
    assert.equal(new Set(await colours()).size, many, 'no two curves share a colour');
    const marks = () => panel.locator('svg path').count();
    const before = await marks();
    await panel.screenshot({ path: join(shots, `eight-${name}.png`) });
    await panel.locator('.legend button[aria-pressed="false"]').first().click();
    assert.equal(await pressed.count(), 9);
    assert.ok((await marks()) > before);
    await panel.locator('.legend .all').click();
    assert.equal(await pressed.count(), many);
    await panel.locator('.legend .all').click();
    assert.equal(await pressed.count(), 8);
    // No chart of the page begins with more.
    const most = await page.evaluate(() => Math.max(...JSON.parse(document.getElementById('data').textContent).figures
      .flatMap((f) => f.panels.map((p) => p.curves.filter((c) => c.shown !== false).length))));
    assert.ok(most <= 8, `a chart begins with ${most}`);
    await page.close();
  });

  test(`shows strangers below known negatives, with one legend (${name})`, async () => {
    const page = await open(kept, size);
    const panel = page.locator('#habf-fig10-a');
    await panel.scrollIntoViewIfNeeded();
    assert.equal(await panel.locator('.chart').count(), 2);
    assert.equal(await panel.locator('table').count(), 2);
    await panel.locator('.chart svg').nth(1).waitFor();
    const marks = async () => [await panel.locator('.chart').nth(0).locator('path').count(), await panel.locator('.chart').nth(1).locator('path').count()];
    const before = await marks();
    await panel.locator('.legend button').first().click();
    const after = await marks();
    assert.ok(after[0] < before[0] && after[1] < before[1], 'a key hides the curve in both');
    await panel.screenshot({ path: join(shots, `strangers-${name}.png`) });
    await page.close();
  });

  test(`of the user's own keys opens with the advice, sorted, marked, and zeros are zeros (${name})`, async () => {
    const page = await open(compared, size);
    const order = await page.evaluate(() => {
      const top = (e) => e.getBoundingClientRect().top;
      return [top(document.getElementById('advice')), top(document.querySelector('.panel'))];
    });
    assert.ok(order[0] < order[1]);
    const advice = await page.locator('#advice').innerText();
    assert.match(advice, /^Use \S+/);
    const best = advice.match(/^Use (\S+?)[,.:;]? /)[1];
    assert.equal((await page.locator('header p').first().innerText()), advice, 'nothing comes before it');
    const panel = page.locator('#compare-a');
    await panel.scrollIntoViewIfNeeded();
    await panel.locator('svg').waitFor();
    // The legend is above the chart.
    const tops = await panel.evaluate((p) => [p.querySelector('.legend'), p.querySelector('.chart')].map((e) => e.getBoundingClientRect().top));
    assert.ok(tops[0] < tops[1]);
    const texts = await panel.locator('svg text').allTextContents();
    assert.equal(texts.filter((t) => t.includes('recommended')).length, 1);
    const bold = await panel.locator('svg text').evaluateAll((all) => all.filter((t) => t.getAttribute('style')?.includes('bold')).map((t) => t.textContent));
    assert.deepEqual(bold, [best], `${best} is marked`);
    assert.equal((await panel.locator('tbody tr td').first().innerText()), best, 'the best comes first');
    assert.ok(texts.filter((t) => t === '0').length > 0, 'a zero says 0');
    await page.screenshot({ path: join(shots, `compare-top-${name}.png`) });
    await panel.screenshot({ path: join(shots, `compare-bars-${name}.png`) });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= size.viewport.width);
    await page.close();
  });
}

test('takes names that look like markup as text', async () => {
  const name = '</script><img src=x onerror=alert(1)>.txt';
  writeFileSync(join(folder, 'keys.txt'), 'a\nb\nc\nd\n');
  const keys = `${folder}/<!--${name.replaceAll('/', '\u2215')}`;
  writeFileSync(keys, 'a\nb\nc\nd\n');
  const negatives = join(folder, 'negatives.tsv');
  writeFileSync(negatives, Array.from({ length: 40 }, (_, i) => `n${i}\t${i + 1}\n`).join(''));
  const html = join(folder, 'compare.html');
  execFileSync(naysay, ['compare', '--keys', keys, '--negatives', negatives, '--sweep', '8,16', '--bits-per-key', '12', '--filters', 'bloom,xor,cuckoo', '--html', html]);
  const page = await open(html);
  assert.equal(await drawAll(page), 3);
  assert.match(await page.locator('h2').innerText(), /onerror=alert/);
  assert.equal(await page.locator('img').count(), 0);
  await page.screenshot({ path: join(shots, 'compare.png'), fullPage: true });
  await page.close();
});

test('fetches nothing and logs no error', () => assert.deepEqual(problems, []));
