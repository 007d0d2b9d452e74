// browser.mjs: the page in headless Chromium: what it computes, what it shows when something is
// missing, and whether keyboard, screen reader, phone and dark mode are served. Leaves pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { B, finish, keep, record, test } from "./harness.mjs";

const { chromium } = createRequire(path.resolve(B, "runtimes/browser/node_modules/x.js"))("playwright-core");
const server = spawn("python3", ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", path.join(B, "web"), "0"], { stdio: ["ignore", "pipe", "ignore"] });
let said = "";
const address = await new Promise((done) => server.stdout.on("data", (text) => {
	const found = /http:[^\s)]+\//.exec((said += text));
	if (found) done(found[0]);
}));
process.on("exit", () => server.kill());
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

const DESKTOP = { viewport: { width: 1100, height: 900 }, colorScheme: "light" };
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true };

// Each call of the worker and its answer, as the page sends and gets them.
function listen() {
	const calls = (window.recorded = []);
	window.Worker = class extends window.Worker {
		constructor(...a) {
			super(...a);
			window.hired = this;
			this.addEventListener("message", ({ data }) => {
				const call = calls.find((c) => c.id === data.id && c.call === "run" && !c.value);
				if (call && data.value) call.value = data.value;
			});
		}
		postMessage(message, ...rest) {
			calls.push(structuredClone(message));
			super.postMessage(message, ...rest);
		}
	};
}

async function open(options, before) {
	const context = await browser.newContext(options);
	const page = await context.newPage();
	page.setDefaultTimeout(60000);
	page.complaints = [];
	page.on("console", (m) => ["error", "warning"].includes(m.type()) && page.complaints.push(m.text()));
	page.on("pageerror", (e) => page.complaints.push(e.stack));
	await page.addInitScript(listen);
	await before?.(page, context);
	await page.goto(address);
	return page;
}
const state = (page) => page.locator("#runtime .state");
const says = (page, pattern, selector = "#runtime .state") =>
	page.waitForFunction(([p, s]) => new RegExp(p).test(document.querySelector(s)?.textContent ?? ""), [pattern, selector]);
const loaded = (page) => says(page, "All models are loaded");
const text = (page, selector) => page.locator(selector).textContent();
const picture = async (page, name) => {
	await page.evaluate(() => scrollTo(0, 0));
	await page.waitForTimeout(300);
	await page.screenshot({ path: `${B}/web-test/${name}.png`, fullPage: true });
};
async function keepRuns(page, where) {
	const runs = await page.evaluate(() => JSON.stringify(recorded.filter((c) => c.value), (_, v) =>
		typeof v === "bigint" ? Number(v) : ArrayBuffer.isView(v) ? Array.from(v) : Object.is(v, NaN) ? "nan" : v));
	const all = JSON.parse(runs);
	for (const { name, feed, value } of all) record(where, name, feed, value);
	return all.length;
}
async function stroke(page, points) {
	const pad = page.locator("#pad");
	await pad.scrollIntoViewIfNeeded();
	const box = await pad.boundingBox();
	const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
	await page.mouse.move(...at(points[0]));
	await page.mouse.down();
	for (const p of points.slice(1)) await page.mouse.move(...at(p), { steps: 5 });
	await page.mouse.up();
}
const TWO = [[0.3, 0.2], [0.5, 0.15], [0.65, 0.25], [0.65, 0.4], [0.45, 0.6], [0.3, 0.8], [0.75, 0.8]];

for (const [name, options] of [["desktop-light", DESKTOP], ["phone-dark", PHONE]])
	test(`${name}: all four models, with mouse or finger`, async () => {
		const page = await open(options);
		await loaded(page);
		await stroke(page, TWO);
		await says(page, "This is a 2", "#digit-result");
		await page.click("#digit-all");
		await says(page, "196 of 200", "#digit-result");
		await page.click("#digit-one");
		await says(page, "it is a 6", "#digit-result");
		await page.click("#pad-clear");
		await stroke(page, TWO);
		await says(page, "This is a 2", "#digit-result");

		await page.click("#points-clouds");
		const plane = await page.locator("#plane").boundingBox();
		for (let i = 0; i < 5; i++) await page.locator("#plane").click({ position: { x: plane.width * (0.3 + 0.1 * i), y: plane.height * 0.5 } });
		await says(page, "95 points in 3 groups", "#kmeans-result");
		await page.locator("#groups").fill("6");
		await says(page, "95 points in 6 groups", "#kmeans-result");
		await page.locator("#groups").fill("4");
		await says(page, "95 points in 4 groups", "#kmeans-result");

		await says(page, "−632.54", "#kalman-result");
		await page.locator("#noise").fill("5.5");
		await page.locator("#drift").fill("1");
		await page.click("#nile-fit");
		await says(page, "−632.5[34]", "#kalman-result");
		await page.click("#nile-gap");
		await says(page, "80 years", "#kalman-result");

		await page.click("#sample");
		await says(page, "[0-9] draws, ", "#sample-result");
		await page.click("#sample");
		await says(page, "Go on", "#sample");
		const before = await text(page, "#sample-result");
		await page.waitForTimeout(400);
		assert.equal(await text(page, "#sample-result"), before, "a pause pauses");
		await page.click("#sample");
		await says(page, "1,000 more", "#sample");
		await says(page, "^4,000 draws", "#sample-result");
		const [download] = await Promise.all([page.waitForEvent("download"), page.click("#sample-save")]);
		assert.equal(download.suggestedFilename(), "eight_schools.csv");
		const rows = await page.locator("#summary tbody tr").evaluateAll((r) => r.map((t) => [...t.children].map((c) => c.textContent.replace("−", "-").replace(",", ""))));
		const summary = Object.fromEntries(rows.map(([n, mean, sd, , , ess, rhat]) => [n.replace(" ", "_"), { mean: +mean, sd: +sd, ess: +ess, rhat: +rhat }]));
		keep(name, { posterior: summary });

		assert.ok((await keepRuns(page, name)) > 20);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen");
		await picture(page, name);
		await page.locator("#sample-again").click();
		await says(page, "Nothing drawn", "#sample-result");
		await page.locator("#kmeans summary").click();
		await says(page, "Lloyd's algorithm[\\s\\S]*fn Nearest", "#kmeans .text");
		assert.deepEqual(page.complaints, []);
		await page.context().close();
	});

test("by keyboard alone, with names for a screen reader, in little motion", async () => {
	const page = await open({ ...DESKTOP, colorScheme: "dark", reducedMotion: "reduce" });
	await loaded(page);
	const press = async (...keys) => {
		for (const k of keys) await page.keyboard.press(k);
	};
	const reach = async (id) => {
		for (let i = 0; i < 60; i++) {
			if ((await page.evaluate(() => document.activeElement.id)) === id) return;
			await page.keyboard.press("Tab");
		}
		assert.fail(`Tab does not reach ${id}`);
	};
	await reach("pad");
	await press("Space", ...Array(12).fill("ArrowDown"), "Space");
	await says(page, "This is a 1", "#digit-result");
	await says(page, "This is a 1, \\d+ percent", "#live");
	await reach("sample");
	await press("Enter");
	await says(page, "1,000 more", "#sample");
	await says(page, "4,000 draws.*Mean of mu", "#live");
	await reach("plane");
	for (const keys of [["ArrowLeft"], ["ArrowLeft"], ["ArrowUp"], ["ArrowUp"]]) await press(...keys, ...keys, "Space");
	await says(page, "4 points in 3 groups", "#kmeans-result");
	await picture(page, "keyboard-dark");
	await reach("groups");
	await press("ArrowLeft");
	await says(page, "4 points in 2 groups", "#kmeans-result");
	await reach("nile");
	await press("Home", "ArrowRight", "Space");
	await says(page, "99 years", "#kalman-result");
	await says(page, "1872: not measured", "#live");
	await page.locator("#nile").screenshot({ path: `${B}/web-test/nile-keyboard.png` });
	await press("Space");
	await says(page, "100 years", "#kalman-result");

	const tree = await (await page.context().newCDPSession(page)).send("Accessibility.getFullAXTree");
	const focusable = tree.nodes.filter((n) => !n.ignored && n.properties?.some((p) => p.name === "focusable" && p.value.value) && n.role.value !== "RootWebArea");
	assert.ok(focusable.length > 20);
	for (const n of focusable) assert.ok(n.name?.value, `${n.role.value} without a name`);
	assert.deepEqual(page.complaints, []);
	await page.context().close();
});

test("text stands out from what is behind it, in light and dark", async () => {
	for (const colorScheme of ["light", "dark"]) {
		const page = await open({ ...DESKTOP, colorScheme });
		const low = await page.evaluate(() => {
			const css = getComputedStyle(document.documentElement);
			const light = (name) => {
				const c = css.getPropertyValue(name).trim();
				const [r, g, b] = [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const contrast = (a, b) => {
				const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
				return (x + 0.05) / (y + 0.05);
			};
			const text = [["--ink", "--paper"], ["--ink", "--sheet"], ["--ink", "--fill"], ["--soft", "--paper"], ["--soft", "--sheet"], ["--soft", "--fill"], ["--bad", "--bad-fill"], ["--on-accent", "--accent"], ["--accent", "--sheet"]];
			const marks = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [`--c${i}`, "--fill"]);
			return [...text.map((p) => [...p, contrast(...p), 4.5]), ...marks.map((p) => [...p, contrast(...p), 3])].filter((p) => p[2] < p[3]);
		});
		assert.deepEqual(low, [], colorScheme);
		await page.context().close();
	}
});

test("progress while ONNX Runtime Web comes slowly; what is drawn meanwhile is read afterwards", async () => {
	const page = await open(DESKTOP, async (page, context) => {
		const cdp = await context.newCDPSession(page);
		await cdp.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
		await context.route("**/*.wasm", async (route) => {
			await new Promise((r) => setTimeout(r, 1500));
			await route.continue();
		});
	});
	await says(page, "Loading ONNX Runtime Web");
	await stroke(page, TWO);
	await page.locator("#plane").click();
	assert.match(await text(page, "#digit-result"), /as soon as the model is here/);
	const seen = await page.evaluate(() => new Promise((done) => {
		const texts = [];
		const state = document.querySelector("#runtime .state");
		new MutationObserver(() => {
			texts.push(state.textContent);
			if (/All models/.test(state.textContent)) done(texts);
		}).observe(state, { childList: true, characterData: true, subtree: true });
	}));
	assert.ok(seen.some((t) => /Loading ONNX Runtime Web: \d+\.\d MB of 14\.2 MB/.test(t)), seen.join("; "));
	await says(page, "This is a 2", "#digit-result");
	await says(page, "1 point in one group", "#kmeans-result");
	await page.context().close();
});

test("offline while it loads: the page says so, keeps the drawing and goes on", async () => {
	const page = await open(DESKTOP, (page, context) => context.route("**/*.wasm", (route) => route.abort()));
	await says(page, "cannot run yet");
	assert.match(await text(page, "#runtime .trouble"), /did not arrive: the network or the server is away/);
	await stroke(page, TWO);
	await picture(page, "offline");
	await page.context().unroute("**/*.wasm");
	await page.click("#runtime .trouble button");
	await loaded(page);
	await says(page, "This is a 2", "#digit-result");
	assert.equal(await page.locator("#runtime .trouble").isVisible(), false);
	await page.context().close();
});

test("a model that is missing, and one that is broken: the others work", async () => {
	const page = await open(PHONE, async (page, context) => {
		await context.route("**/kalman.onnx", (route) => route.fulfill({ status: 404, body: "" }));
		await context.route("**/kmeans.onnx", (route) => route.fulfill({ body: "not a model" }));
	});
	await says(page, "Some models are missing");
	assert.match(await text(page, "#kalman .trouble"), /kalman\.onnx is not on the server \(status 404\).*make web/);
	assert.match(await text(page, "#kmeans .trouble"), /cannot read kmeans\.onnx/);
	await stroke(page, TWO);
	await says(page, "This is a 2", "#digit-result");
	await picture(page, "missing");
	await page.context().unroute("**/kmeans.onnx");
	await page.context().unroute("**/kalman.onnx");
	await page.click("#kalman .trouble button");
	await says(page, "−632.54", "#kalman-result");
	await page.click("#kmeans .trouble button");
	await loaded(page);
	await page.context().close();
});

test("the worker ends while it samples: draws and drawing stay, and all goes on", async () => {
	const page = await open(DESKTOP);
	await loaded(page);
	await stroke(page, TWO);
	await page.click("#sample");
	await says(page, "[0-9] draws, ", "#sample-result");
	await page.evaluate(() => hired.dispatchEvent(new ErrorEvent("error")));
	await says(page, "background thread has stopped", "#runtime .trouble");
	await says(page, "Sampling has stopped.*The draws so far stay", "#posterior .trouble");
	await says(page, "Go on", "#sample");
	await stroke(page, [[0.2, 0.9], [0.3, 0.9]]);
	await page.click("#pad-undo");
	await page.click("#runtime .trouble button");
	await loaded(page);
	await says(page, "This is a 2", "#digit-result");
	await page.click("#sample");
	await says(page, "1,000 more", "#sample");
	await says(page, "^4,000 draws", "#sample-result");
	assert.equal(await page.locator("#posterior .trouble").isVisible(), false);
	await page.context().close();
});

test("without WebAssembly, without the script of ONNX Runtime, without JavaScript", async () => {
	const none = await open(DESKTOP, (page) => page.addInitScript(() => delete window.WebAssembly));
	await says(none, "cannot run yet");
	assert.match(await text(none, "#runtime .trouble"), /does not run WebAssembly/);
	await none.context().close();
	const bare = await open(DESKTOP, (page, context) => context.route("**/ort*.mjs", (route) => route.abort()));
	await says(bare, "cannot run yet");
	assert.match(await text(bare, "#runtime .trouble"), /ort\.wasm\.bundle\.min\.mjs did not arrive/);
	await bare.context().unroute("**/ort*.mjs");
	await bare.click("#runtime .trouble button");
	await loaded(bare);
	await bare.context().close();
	const still = await open({ ...DESKTOP, javaScriptEnabled: false });
	assert.match(await state(still).textContent(), /make web-serve/);
	await still.context().close();
});

await finish("browser.json");
