// logic.mjs: the module's arithmetic and the models on ONNX Runtime Web, in Node.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { B, finish, keep, record, test } from "./harness.mjs";

const file = (name) => path.resolve(B, "web", name);
const load = (name) => import(pathToFileURL(file(name)));
const page = await load("page.mjs");
const ort = await load(page.RUNTIME.script);
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmBinary = fs.readFileSync(file(page.RUNTIME.code)).buffer;
const session = (name) => ort.InferenceSession.create(fs.readFileSync(file(`${name}.onnx`)));
const npy = (name) => page.readNpy(new Uint8Array(fs.readFileSync(file(name))).buffer);

const arc = (x, y, rx, ry, from, to) =>
	Array.from({ length: 25 }, (_, i) => {
		const t = ((from + ((to - from) * i) / 24) * Math.PI) / 180;
		return [x + rx * Math.cos(t), y + ry * Math.sin(t)];
	});
const DRAWN = {
	0: [arc(0.5, 0.5, 0.2, 0.33, 0, 360)],
	1: [[[0.5, 0.15], [0.5, 0.85]]],
	2: [[...arc(0.5, 0.32, 0.2, 0.17, 190, 380), [0.3, 0.85], [0.72, 0.85]]],
	3: [[...arc(0.48, 0.32, 0.18, 0.16, 200, 450), ...arc(0.48, 0.66, 0.2, 0.18, -90, 160)]],
	4: [[[0.35, 0.15], [0.3, 0.5], [0.7, 0.5]], [[0.68, 0.15], [0.66, 0.88]]],
	5: [[[0.7, 0.15], [0.37, 0.15], [0.35, 0.45], ...arc(0.48, 0.63, 0.2, 0.2, -110, 150)]],
	7: [[[0.3, 0.17], [0.7, 0.17], [0.45, 0.85]]],
	8: [[...arc(0.5, 0.32, 0.15, 0.16, 90, 450), ...arc(0.5, 0.67, 0.19, 0.19, -90, 270)]],
	9: [[...arc(0.5, 0.33, 0.17, 0.17, 0, -360), [0.67, 0.33], [0.64, 0.6], [0.55, 0.86]]],
};

test("strokes become pictures that the classifier knows", async () => {
	const digits = await session("digits");
	for (const [digit, strokes] of Object.entries(DRAWN)) {
		const pixels = page.rasterise(strokes);
		assert.ok(pixels.every((v) => v >= 0 && v <= 1));
		const results = await digits.run({ x: new ort.Tensor("float32", pixels, [1, 64]) });
		record("node", "digits", { x: [pixels, [1, 64]] }, { probs: results.probs.data, label: results.label.data });
		if (digit !== "4") assert.equal(results.label.data[0], BigInt(digit), `a drawn ${digit}`); // a 9 to this network
	}
});

test("a drawing of nothing, of a dot and of a line", () => {
	assert.deepEqual(page.rasterise([]), new Float32Array(64));
	assert.deepEqual(page.rasterise([[[3, 3]]]), page.rasterise([[[0.1, 0.9]]]));
	for (const strokes of [[[[3, 3]]], [[[0, 0], [1, 0]]], [[[0, 0], [0, 1]], [[0, 1]]]])
		assert.ok(page.rasterise(strokes).some((v) => v > 0.5));
	const one = page.rasterise([[[0, 0], [0, 1]]]);
	assert.deepEqual(page.rasterise([[[100, -40], [100, 360]]]), one, "place and size do not matter");
});

test("test images and labels are read; 196 of 200 right", async () => {
	const images = npy("test-images.npy"), labels = npy("test-labels.npy");
	assert.deepEqual(images.shape, [200, 64]);
	assert.deepEqual(labels.shape, [200]);
	const digits = await session("digits");
	const { label } = await digits.run({ x: new ort.Tensor("float32", images.data, images.shape) });
	assert.equal(label.data.filter((l, i) => l === labels.data[i]).length, 196);
});

test("the sampler finds a normal distribution of known correlation and scales", async () => {
	const [a, b, r] = [3, 0.05, 0.8]; // standard deviations and correlation
	const density = async ([x, y]) => {
		const u = x / a, v = (y - 7) / b, c = 1 / (1 - r * r);
		return { logp: (-c * (u * u - 2 * r * u * v + v * v)) / 2, slope: Float64Array.of((-c * (u - r * v)) / a, (-c * (v - r * u)) / b) };
	};
	const random = page.uniforms(4);
	const chains = [];
	for (let c = 0; c < 4; c++) {
		const draws = [];
		let i = 0;
		for await (const d of page.nuts(density, Float64Array.of(0, 0), random, 500)) {
			if (++i > 500) draws.push(d.q);
			if (i === 2000) break;
		}
		chains.push(draws);
	}
	const at = (f) => page.summarise(chains.map((c) => c.map(f)));
	for (const [s, mean, sd] of [[at((q) => q[0]), 0, a], [at((q) => q[1]), 7, b]]) {
		assert.ok(Math.abs(s.mean - mean) < (5 * sd) / Math.sqrt(s.ess), `mean ${s.mean}`);
		assert.ok(Math.abs(s.sd / sd - 1) < 0.1, `sd ${s.sd}`);
		assert.ok(s.ess > 1000 && s.rhat < 1.01, `ess ${s.ess} rhat ${s.rhat}`);
	}
	const product = at((q) => ((q[0] / a) * (q[1] - 7)) / b);
	assert.ok(Math.abs(product.mean - r) < 0.1, `correlation ${product.mean}`);
});

test("summaries of a chain with known autocorrelation, of chains apart, of a constant", () => {
	const random = page.uniforms(1);
	const chain = (centre, keep) => {
		let x = 0;
		return Array.from({ length: 5000 }, () => centre + (x = keep * x + page.normal(random)));
	};
	const slow = page.summarise([0, 0, 0, 0].map((c) => chain(c, 0.9)));
	assert.ok(Math.abs(slow.ess / (20000 / 19) - 1) < 0.3, `ess ${slow.ess}`);
	assert.ok(page.summarise([0, 0, 0, 5].map((c) => chain(c, 0))).rhat > 1.5);
	assert.equal(page.summarise([[1, 1, 1], [1, 1, 1]]).mean, 1);
});

test("the log density and its gradient, and the posterior of the eight schools", async () => {
	const { density, size } = page.densityOf(ort, await session("eight_schools"));
	assert.equal(size, 10);
	const random = page.uniforms(2);
	for (let i = 0; i < 20; i++) {
		const q = Float64Array.from({ length: size }, () => 4 * random() - 2);
		const { logp, slope } = await density(q);
		record("node", "eight_schools", { mu: [[q[0]], []], tau_log__: [[q[1]], []], z: [q.slice(2), [8]] }, { logp: [logp], dlogp: slope });
	}
	const chains = [];
	for (let c = 0; c < 2; c++) {
		const draws = [];
		let i = 0;
		for await (const d of page.nuts(density, Float64Array.from({ length: size }, () => 2 * random() - 1), random, 400)) {
			if (++i > 400) draws.push(d.q);
			if (i === 1400) break;
		}
		chains.push(draws);
	}
	keep("node", { posterior: Object.fromEntries(Object.entries({ mu: (q) => q[0], tau: (q) => Math.exp(q[1]), school_A: (q) => q[0] + Math.exp(q[1]) * q[2] }).map(([k, f]) => [k, page.summarise(chains.map((c) => c.map(f)))])) });
});

test("first centres: k different points, also where points repeat", () => {
	const points = Array.from({ length: 30 }, (_, i) => [i % 6, 0]);
	for (let seed = 0; seed < 20; seed++) {
		const found = page.firstCentres(points, 6, page.uniforms(seed));
		assert.equal(new Set(found.map(String)).size, 6);
		assert.equal(page.firstCentres([[1, 1], [1, 1]], 2, page.uniforms(seed)).length, 2);
	}
});

test("the highest place of a hill", async () => {
	const [x, y] = await page.climb(async ([x, y]) => -((x - 1) ** 2) - 3 * (y + 2 + x) ** 2, [5, 5]);
	assert.ok(Math.abs(x - 1) < 0.01 && Math.abs(y + 3) < 0.01, `${x} ${y}`);
});

await finish("node.json");
