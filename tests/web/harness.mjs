// harness.mjs: runs tests one after the other and counts them; keeps what models computed for
// compare.py, which computes the same with ONNX Runtime in Python.
import fs from "node:fs";

export const B = process.env.B ?? "build";
const tests = [], recorded = [];

export const test = (title, body) => tests.push([title, body]);

// One run of a model: { input: [numbers, shape] }, { output: numbers }.
export const record = (where, name, feed, results) => recorded.push({ where, name, feed, results });
export const keep = (where, fact) => recorded.push({ where, ...fact });

// JSON knows neither NaN nor 64-bit integers.
const plain = (_, v) =>
	typeof v === "bigint" ? Number(v) : ArrayBuffer.isView(v) ? Array.from(v) : Object.is(v, NaN) ? "nan" : v;

export async function finish(file) {
	let failed = 0;
	for (const [title, body] of tests) {
		try {
			await body();
			console.log(`ok: ${title}`);
		} catch (e) {
			failed++;
			console.log(`failed: ${title}\n${e.stack}`);
		}
	}
	fs.writeFileSync(`${B}/web-test/${file}`, JSON.stringify(recorded, plain));
	console.log(`${tests.length - failed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}
