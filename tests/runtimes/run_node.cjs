// The driver of ONNX Runtime Web (WASM) and ONNX Runtime in Node.
// Usage: node run_node.cjs PACKAGE FOLDER CASES RESULTS < lines of cases.txt   (FOLDER/node_modules has the package)
const fs = require("fs");
const path = require("path");
const { read, write } = require("./tensors.cjs");
const [name, folder, cases, results] = process.argv.slice(2);
const ort = require(require.resolve(name, { paths: [folder] }));
const { version } = JSON.parse(fs.readFileSync(path.join(folder, "node_modules", name, "package.json")));

async function main() {
	const web = name === "onnxruntime-web";
	if (web) ort.env.wasm.numThreads = 1;
	ort.env.logLevel = "fatal";
	fs.writeFileSync(path.join(results, "version"), `${web ? "ONNX Runtime Web" : "ONNX Runtime"} ${version} (Node)`);
	let session, loaded;
	for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
		const [id, model] = line.split(" ");
		const out = path.join(results, id);
		let failed = "load";
		try {
			if (model !== loaded) {
				if (session) await session.release();
				loaded = session = undefined;
				const options = { logSeverityLevel: 4, intraOpNumThreads: 1, executionProviders: [web ? "wasm" : "cpu"] };
				session = await ort.InferenceSession.create(fs.readFileSync(path.join(cases, model)), options);
				loaded = model;
			}
			failed = "run";
			const at = path.join(cases, id);
			const feed = read(ort, fs.readFileSync(`${at}.in`, "utf8"), fs.readFileSync(`${at}.bin`));
			const { text, data } = write(session.outputNames, await session.run(feed));
			fs.writeFileSync(`${out}.bin`, data);
			fs.writeFileSync(`${out}.out`, text);
		} catch (e) {
			fs.writeFileSync(`${out}.out`, `${failed} ${String(e).replace(/\s+/g, " ").slice(0, 300)}\n`);
		}
	}
}
main();
