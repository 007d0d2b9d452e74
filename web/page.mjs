// page.mjs: the page of index.html, its worker, and what both compute around the models.
//
// A browser loads this module twice: as the page, which draws, and as a worker, which fetches ONNX
// Runtime Web and the models and runs them, so that the page never waits. Node loads it for tests.
// The first part is plain arithmetic that knows neither page nor worker.

// --- random numbers ---

// Numbers in (0, 1), the same for the same seed (mulberry32).
export function uniforms(seed) {
	return () => {
		seed = (seed + 0x6d2b79f5) | 0;
		let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
	};
}

export const normal = (random) =>
	Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

// --- digits ---

// Strokes, lists of [x, y] in any unit, as the 64 numbers of the training images: each is the inked
// part of a block of 4 x 4 pixels. As there, a digit fills the height and some three quarters of the
// width, and its pen is as wide as makes 0.3 of the picture black.
export function rasterise(strokes) {
	const seen = new Float32Array(64);
	if (!strokes.length) return seen;
	let ink, thin = 3, thick = 10;
	for (let i = 0; i < 6; i++) {
		const pen = (thin + thick) / 2;
		ink = trace(strokes, pen);
		ink.reduce((n, on) => n + on, 0) < 0.3 * ink.length ? (thin = pen) : (thick = pen);
	}
	ink.forEach((on, i) => (seen[(i >> 9) * 8 + ((i & 63) >> 3)] += on / 64));
	return seen;
}

// 64 x 64 pixels, 1 where a round pen of that radius goes.
function trace(strokes, pen) {
	const SIDE = 64, WIDTH = 40;
	const [x0, y0, x1, y1] = box(strokes.flat());
	const tall = (SIDE - 2 * pen) / (Math.max(y1 - y0, (x1 - x0) / 2) || Infinity);
	const wide = Math.min(tall, (WIDTH - 2 * pen) / (x1 - x0 || 1));
	const place = ([x, y]) => [SIDE / 2 + (x - (x0 + x1) / 2) * wide, SIDE / 2 + (y - (y0 + y1) / 2) * tall];
	const ink = new Uint8Array(SIDE * SIDE);
	for (const stroke of strokes) {
		const s = stroke.map(place);
		s.forEach((to, i) => {
			const from = s[Math.max(i - 1, 0)];
			const [left, top, right, bottom] = box([from, to]);
			for (let y = Math.max(0, Math.floor(top - pen)); y < Math.min(SIDE, bottom + pen); y++)
				for (let x = Math.max(0, Math.floor(left - pen)); x < Math.min(SIDE, right + pen); x++)
					if (distance([x + 0.5, y + 0.5], from, to) <= pen) ink[y * SIDE + x] = 1;
		});
	}
	return ink;
}

function box(points) {
	const x = points.map((p) => p[0]), y = points.map((p) => p[1]);
	return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

function distance([x, y], [ax, ay], [bx, by]) {
	const dx = bx - ax, dy = by - ay;
	const t = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
	return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

// The array of a .npy file of one of two types.
export function readNpy(buffer) {
	const view = new DataView(buffer);
	const start = 10 + view.getUint16(8, true);
	const header = new TextDecoder().decode(new Uint8Array(buffer, 10, start - 10));
	const types = { "<f4": Float32Array, "<i8": BigInt64Array };
	const type = types[/'descr': '(.*?)'/.exec(header)[1]];
	return { data: new type(buffer.slice(start)), shape: /\((.*?)\)/.exec(header)[1].split(",").filter((n) => n.trim()).map(Number) };
}

// --- k-means ---

// First centres: each one a point, chosen with odds as its squared distance from those before.
export function firstCentres(points, k, random) {
	const chosen = [points[Math.floor(random() * points.length)]];
	while (chosen.length < k) {
		const odds = points.map((p) => Math.min(...chosen.map((c) => (p[0] - c[0]) ** 2 + (p[1] - c[1]) ** 2)));
		let left = random() * odds.reduce((a, b) => a + b, 0);
		chosen.push(points[Math.max(0, odds.findIndex((o) => (left -= o) < 0))]);
	}
	return chosen;
}

// --- sampling ---

// No-U-Turn sampler with multinomial weights (Betancourt 2017), dual averaging of the step size and
// a diagonal metric, both fitted in the first `warmup` draws. `density(q)` promises the log density
// and its gradient: { logp, slope }. Yields { q, accept, steps, diverged, warmup } without end.
export async function* nuts(density, start, random, warmup, target = 0.9) {
	const n = start.length;
	const spread = new Float64Array(n).fill(1); // variances, as far as they are known
	let here = { q: start, ...(await density(start)) };
	let seen = moments(n);
	let pace = paces(0.5, target);

	const energy = (s) => s.logp - s.p.reduce((e, p, i) => e + (spread[i] * p * p) / 2, 0);
	const leap = async (s, h) => {
		const half = s.p.map((p, i) => p + (h / 2) * s.slope[i]);
		const q = s.q.map((x, i) => x + h * spread[i] * half[i]);
		const at = await density(q);
		return { q, ...at, p: half.map((p, i) => p + (h / 2) * at.slope[i]) };
	};
	const plus = (a, b) => a.map((x, i) => x + b[i]);
	const along = (p, sum) => p.reduce((e, x, i) => e + x * spread[i] * sum[i], 0);
	const turned = (a, b, sum) => !(along(a.p, sum) > 0 && along(b.p, sum) > 0);
	const join = (a, b, odds) => {
		const weight = Math.max(a.weight, b.weight) + Math.log1p(Math.exp(-Math.abs(a.weight - b.weight)));
		const sum = plus(a.sum, b.sum);
		return {
			first: a.first, last: b.last, weight, sum,
			pick: Math.log(random()) < b.weight - (odds ?? weight) ? b.pick : a.pick,
			stop: turned(a.first, b.last, sum) || turned(a.first, b.first, plus(a.sum, b.first.p)) ||
				turned(a.last, b.last, plus(b.sum, a.last.p)),
		};
	};
	const tree = async (from, h, depth, trip) => {
		if (depth) {
			const a = await tree(from, h, depth - 1, trip);
			if (a.stop) return a;
			const b = await tree(a.last, h, depth - 1, trip);
			return b.stop ? b : join(a, b);
		}
		const s = await leap(from, h);
		const gain = energy(s) - trip.energy;
		trip.steps++;
		trip.accept += gain > 0 ? 1 : Math.exp(gain) || 0;
		trip.diverged = !(gain > -1000);
		return { first: s, last: s, pick: s, sum: s.p, weight: gain, stop: trip.diverged };
	};

	for (let i = 0; ; i++) {
		here.p = Float64Array.from(spread, (v) => normal(random) / Math.sqrt(v));
		const trip = { steps: 0, accept: 0, energy: energy(here), diverged: false };
		let path = { first: here, last: here, pick: here, sum: here.p, weight: 0 };
		for (let depth = 0, h = i < warmup ? pace.now() : pace.settled(); depth < 10 && !path.stop; depth++) {
			if (random() < 0.5) { // go on from the other end
				h = -h;
				[path.first, path.last] = [path.last, path.first];
			}
			const more = await tree(path.last, h, depth, trip);
			if (more.stop) break;
			path = join(path, more, path.weight);
		}
		here = path.pick;
		const accept = trip.accept / trip.steps;
		if (i < warmup) {
			pace.learn(accept);
			if (i >= 0.1 * warmup) seen.add(here.q);
			if ([0.2, 0.4, 0.8].some((part) => i + 1 === Math.round(part * warmup))) {
				seen.variances().forEach((v, j) => (spread[j] = v));
				seen = moments(n);
				pace = paces(pace.settled(), target);
			}
		}
		yield { q: here.q, accept, steps: trip.steps, diverged: trip.diverged, warmup: i < warmup };
	}
}

// Step sizes by dual averaging (Hoffman and Gelman 2014, section 3.2).
function paces(first, target) {
	let i = 0, error = 0, now = Math.log(first), settled = now;
	const centre = Math.log(10 * first);
	return {
		now: () => Math.exp(now),
		settled: () => Math.exp(settled),
		learn(accept) {
			i++;
			error += (target - accept - error) / (i + 10);
			now = centre - (Math.sqrt(i) / 0.05) * error;
			settled += i ** -0.75 * (now - settled);
		},
	};
}

// Variances of what was added, drawn a little towards 0.001 (Welford; as Stan does).
function moments(n) {
	let count = 0;
	const mean = new Float64Array(n), squares = new Float64Array(n);
	return {
		add(q) {
			count++;
			q.forEach((x, i) => {
				const d = x - mean[i];
				mean[i] += d / count;
				squares[i] += d * (x - mean[i]);
			});
		},
		variances: () => squares.map((s) => ((count / (count + 5)) * s) / (count - 1) + (0.001 * 5) / (count + 5)),
	};
}

const average = (x) => x.reduce((a, b) => a + b, 0) / x.length;

// Mean, standard deviation, quantiles, effective sample size and R-hat of the split chains
// (Vehtari and others 2021, without rank normalisation).
export function summarise(chains) {
	const all = Float64Array.from(chains.flat()).sort();
	const mean = average(all);
	const sd = Math.sqrt(all.reduce((e, x) => e + (x - mean) ** 2, 0) / (all.length - 1));
	const at = (p) => all[Math.min(all.length - 1, Math.floor(p * all.length))];
	const n = Math.floor(Math.min(...chains.map((c) => c.length)) / 2);
	const summary = { mean, sd, low: at(0.05), high: at(0.95), ess: NaN, rhat: NaN };
	if (n < 10) return summary;
	const halves = chains.flatMap((c) => [c.slice(0, n), c.slice(n, 2 * n)]);
	const means = halves.map(average);
	const lagged = (lag) => average(halves.map((c, j) => {
		let e = 0;
		for (let i = lag; i < n; i++) e += (c[i] - means[j]) * (c[i - lag] - means[j]);
		return e / n;
	}));
	const within = (lagged(0) * n) / (n - 1);
	const centre = average(means);
	const between = means.reduce((e, m) => e + (m - centre) ** 2, 0) / (means.length - 1);
	const total = lagged(0) + between;
	const correlation = (lag) => 1 - (within - lagged(lag)) / total;
	let time = -1, before = Infinity;
	for (let lag = 0; lag + 1 < n; lag += 2) { // Geyer's pairs
		before = Math.min(before, lag ? correlation(lag) + correlation(lag + 1) : 1 + correlation(1));
		if (!(before > 0)) break;
		time += 2 * before;
	}
	const draws = n * halves.length;
	summary.ess = Math.min(draws / time, draws * Math.log10(draws));
	summary.rhat = Math.sqrt(total / within);
	return summary;
}

// The place of the largest value of f, by steps that shrink; for a smooth f of few arguments.
export async function climb(f, place, step = 0.5, least = 1e-3) {
	let best = await f(place);
	while (step > least) {
		let moved = false;
		for (let i = 0; i < place.length; i++)
			for (const sign of [1, -1]) {
				const next = place.map((x, j) => (j === i ? x + sign * step : x));
				const value = await f(next);
				if (value > best) [best, place, moved] = [value, next, true];
			}
		if (!moved) step /= 2;
	}
	return place;
}

// --- the worker ---

export const RUNTIME = { script: "ort.wasm.bundle.min.mjs", code: "ort-wasm-simd-threaded.wasm" };
const ARRAYS = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array };

// The log density of a model as a function of one vector: its inputs one after the other.
export function densityOf(ort, session) {
	const inputs = session.inputMetadata;
	const sizes = inputs.map((i) => i.shape.reduce((a, b) => a * b, 1));
	const density = async (q) => {
		const feed = {};
		let at = 0;
		inputs.forEach((input, i) => {
			feed[input.name] = new ort.Tensor(input.type, ARRAYS[input.type].from(q.subarray(at, (at += sizes[i]))), input.shape);
		});
		const { logp, dlogp } = await session.run(feed);
		return { logp: Number(logp.data[0]), slope: Float64Array.from(dlogp.data) };
	};
	return { density, size: sizes.reduce((a, b) => a + b, 0) };
}

function work() {
	const tell = (message, move = []) => self.postMessage(message, move);
	const sessions = {};
	let ort, sampler;

	// Bytes of a file of this site; tells how many have come. A server that compresses does not say
	// how many there will be.
	const fetchBytes = async (file) => {
		let response;
		try {
			response = await fetch(file);
			if (!response.ok) throw 0;
			const total = response.headers.get("Content-Encoding") ? 0 : Number(response.headers.get("Content-Length"));
			const parts = [];
			let got = 0;
			for (const reader = response.body.getReader(); ; ) {
				const { done, value } = await reader.read();
				if (done) break;
				parts.push(value);
				tell({ event: "bytes", file, got: (got += value.length), total });
			}
			return new Uint8Array(await new Blob(parts).arrayBuffer());
		} catch {
			throw new Error(response && !response.ok
				? `The file ${file} is not on the server (status ${response.status}). Run “make web” there, then try again.`
				: `The file ${file} did not arrive: the network or the server is away. Go online, or run “make web-serve”, then try again.`);
		}
	};

	const calls = {
		async runtime() {
			if (ort) return;
			const code = await fetchBytes(RUNTIME.code);
			const loaded = await import(`./${RUNTIME.script}`).catch(() => {
				throw new Error(`The file ${RUNTIME.script} did not arrive. Run “make web”, or go online, then try again.`);
			});
			loaded.env.wasm.numThreads = 1; // more need two headers of the server
			loaded.env.wasm.wasmBinary = code.buffer;
			loaded.env.logLevel = "error";
			ort = loaded;
		},
		async load({ name }) {
			const bytes = await fetchBytes(`${name}.onnx`);
			try {
				sessions[name] = await ort.InferenceSession.create(bytes);
			} catch (e) {
				throw new Error(`ONNX Runtime Web cannot read ${name}.onnx. Run “make web” again, then try again. It says: ${e.message}`);
			}
			return { bytes: bytes.length, inputs: sessions[name].inputMetadata };
		},
		async run({ name, feed }) {
			const tensors = {};
			for (const input of sessions[name].inputMetadata) {
				const [data, shape] = feed[input.name];
				tensors[input.name] = new ort.Tensor(input.type, ARRAYS[input.type].from(data), shape);
			}
			const start = performance.now();
			const results = await sessions[name].run(tensors);
			const time = performance.now() - start;
			return { time, ...Object.fromEntries(Object.entries(results).map(([k, t]) => [k, t.data])) };
		},
		// Draws from each chain in turn until each has `goal`; tells of them ten times a second.
		async sample({ name, chains, warmup, goal, seed }) {
			if (sampler?.seed !== seed) {
				const { density, size } = densityOf(ort, sessions[name]);
				const random = uniforms(seed);
				const start = () => Float64Array.from({ length: size }, () => 2 * random() - 1);
				sampler = { seed, draws: 0, chains: Array.from({ length: chains }, () => nuts(density, start(), random, warmup)) };
			}
			const mine = sampler;
			mine.paused = false;
			while (!mine.paused && mine === sampler && mine.draws < warmup + goal) {
				const until = performance.now() + 100;
				const rounds = [];
				do {
					const round = [];
					for (const chain of mine.chains) round.push((await chain.next()).value);
					rounds.push(round);
					mine.draws++;
				} while (performance.now() < until && mine.draws < warmup + goal);
				tell({ event: "draws", seed, rounds });
				await new Promise((next) => setTimeout(next)); // messages come in here
			}
		},
		pause() {
			if (sampler) sampler.paused = true;
		},
	};
	self.onmessage = async ({ data: { id, call, ...rest } }) => {
		try {
			tell({ id, value: await calls[call](rest) });
		} catch (e) {
			tell({ id, error: e.message });
		}
	};
}

// --- the page ---

function show() {
	const $ = (selector, inside = document) => inside.querySelector(selector);
	const calm = matchMedia("(prefers-reduced-motion: reduce)");
	const dark = matchMedia("(prefers-color-scheme: dark)");
	const megabytes = (n) => `${(n / 1e6).toFixed(1)} MB`;
	const kilobytes = (n) => `${(n / 1e3).toFixed(1)} KB`;
	const number = (n, digits = 0) => n.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
	const signed = (n, digits) => number(n, digits).replace(/^-(?=.*[1-9])/, "−").replace("-", "");
	const milliseconds = (t) => `${t < 10 ? t.toFixed(1) : Math.round(t)} ms`;

	// What a screen reader says; only the last of several quick changes.
	let saying;
	const say = (text) => {
		clearTimeout(saying);
		saying = setTimeout(() => ($("#live").textContent = text), 700);
	};

	const complain = (section, error, again) => {
		const place = $(".trouble", section);
		place.hidden = !error;
		place.replaceChildren();
		if (!error) return;
		const text = document.createElement("p");
		text.textContent = error.message;
		place.append(text);
		if (!again) return;
		const button = document.createElement("button");
		button.textContent = "Try again";
		button.onclick = () => {
			complain(section, null);
			again();
		};
		place.append(button);
	};

	const cards = {};
	const runtime = $("#runtime"), state = $(".state", runtime), bar = $("progress", runtime);

	// Calls of the worker by name; events of it by name.
	const on = {};
	let worker, waiting = new Map(), calls = 0;
	const call = (name, rest = {}) =>
		new Promise((done, fail) => {
			if (!worker) return fail(new Error("The background thread has stopped. Press “Try again” at the top of the page."));
			waiting.set(++calls, { done, fail });
			worker.postMessage({ id: calls, call: name, ...rest });
		});
	const hire = () => {
		worker = new Worker(import.meta.url, { type: "module" });
		worker.onmessage = ({ data }) => {
			if (data.event) return on[data.event]?.(data);
			const { done, fail } = waiting.get(data.id);
			waiting.delete(data.id);
			"error" in data ? fail(new Error(data.error)) : done(data.value);
		};
		worker.onerror = (e) => {
			e.preventDefault();
			worker.terminate();
			worker = null;
			const error = new Error("The background thread has stopped: the file page.mjs did not arrive, or there is no memory left. Close other tabs, or go online, then try again. What you have drawn and sampled stays.");
			for (const { fail } of waiting.values()) fail(error);
			waiting = new Map();
			for (const card of Object.values(cards)) card.ready = false;
			complain(runtime, error, loadRuntime);
		};
	};

	// --- loading ---

	const size = { runtime: 0, models: 0 };
	on.bytes = ({ file, got, total }) => {
		if (file !== RUNTIME.code) return;
		size.runtime = got;
		bar.hidden = false;
		if (total) bar.value = got / total;
		else bar.removeAttribute("value");
		state.textContent = `Loading ONNX Runtime Web: ${megabytes(got)}${total ? ` of ${megabytes(total)}` : ""}`;
	};
	const loadRuntime = async () => {
		state.textContent = "Loading ONNX Runtime Web …";
		try {
			checkWebAssembly();
			if (!worker) hire();
			await call("runtime");
		} catch (e) {
			state.textContent = "The models cannot run yet. What you draw and set stays.";
			bar.hidden = true;
			return complain(runtime, e, loadRuntime);
		}
		bar.hidden = true;
		state.textContent = "Starting ONNX Runtime Web …";
		await Promise.all(Object.values(cards).map((card) => card.load()));
		tellReady();
	};
	const tellReady = () => {
		const ready = Object.values(cards).every((card) => card.ready);
		state.textContent = ready ? "All models are loaded." : "Some models are missing; see below.";
	};

	// A section with a model. `after` runs the model as things stand; calls while it runs are one call.
	const card = (name, after) => {
		const section = $(`[data-model=${name}]`);
		const files = section.dataset.text.split(" ");
		let busy = false, late = false;
		const self = (cards[name] = {
			section,
			ready: false,
			async load() {
				if (self.ready) return;
				try {
					const loaded = await call("load", { name });
					const types = [...new Set(loaded.inputs.map((i) => i.type))];
					size.models += self.bytes ? 0 : loaded.bytes;
					self.bytes = loaded.bytes;
					self.ready = true;
					$(".meta", section).textContent =
						`${await lines()} lines of .ptg → a model of ${kilobytes(loaded.bytes)} in ${types.join(" and ")}`;
					$("#sizes").textContent =
						`This page loaded ONNX Runtime Web (${megabytes(size.runtime)} of WebAssembly; a quarter of that where the server compresses) and ${kilobytes(size.models)} of models, all from its own server.`;
				} catch (e) {
					return complain(section, e, () => self.load().then(tellReady));
				}
				await self.update();
			},
			async run(feed) {
				return call("run", { name, feed });
			},
			async update() {
				if (!self.ready) return;
				if (busy) return void (late = true);
				busy = true;
				try {
					do {
						late = false;
						await after();
					} while (late);
					complain(section, null);
				} catch (e) {
					complain(section, e, self.update);
				}
				busy = false;
			},
		});
		const texts = async () => {
			const got = await Promise.all(files.map((f) => fetch(f).then((r) => (r.ok ? r.text() : Promise.reject(r)))));
			return got.map((text, i) => (i ? `# ${files[i]}\n\n${text}` : text)).join("\n");
		};
		const lines = async () => (await texts().catch(() => "")).split("\n").filter((l) => l.trim() && !l.startsWith("#")).length || "Some";
		const details = $("details", section);
		details.addEventListener("toggle", async () => {
			if (!details.open || $(".text", details)) return;
			const pre = document.createElement("pre");
			pre.className = "text";
			pre.tabIndex = 0;
			const link = document.createElement("p");
			const a = Object.assign(document.createElement("a"), { href: `${name}.onnx`, download: "", textContent: `Download ${name}.onnx` });
			try {
				pre.textContent = await texts();
				link.append(a);
				details.append(pre, link);
			} catch {
				pre.className = "";
				pre.textContent = `${files.join(", ")} did not arrive. Close and open this again to try once more.`;
				$(".none", details)?.remove();
				pre.classList.add("none");
				details.append(pre);
			}
		});
		return self;
	};

	// --- drawing ---

	const paint = (svg, content) => {
		if (!svg.clientWidth) return; // not laid out yet; the observer of sizes draws again
		svg.setAttribute("viewBox", `0 0 ${svg.clientWidth} ${svg.clientHeight}`);
		svg.innerHTML = content;
	};
	const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
	const scale = (from, to, low, high) => (x) => low + ((x - from) / (to - from || 1)) * (high - low);
	const ticks = (low, high, count) => {
		const rough = (high - low) / count;
		const power = 10 ** Math.floor(Math.log10(rough));
		const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
		const list = [];
		for (let t = Math.ceil(low / step) * step; t <= high; t += step) list.push(Math.round(t / step) * step);
		return list;
	};
	const fraction = (svg, e) => {
		const r = svg.getBoundingClientRect();
		return [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height];
	};
	const redraws = [];
	const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

	// --- digits ---

	{
		const pad = $("#pad"), result = $("#digit-result");
		const PROMPT = result.textContent;
		let strokes = [], pen = [0.5, 0.2], down = false, image = null;
		let test = null; // the test images, once they are here
		const draw = () => {
			const css = getComputedStyle(document.documentElement), side = pad.clientWidth, dots = devicePixelRatio || 1;
			pad.width = pad.height = side * dots;
			const c = pad.getContext("2d");
			c.scale(side * dots, side * dots);
			c.lineCap = c.lineJoin = "round";
			c.strokeStyle = c.fillStyle = css.getPropertyValue("--ink");
			c.lineWidth = 0.07;
			for (const s of strokes) {
				c.beginPath();
				s.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
				c.lineTo(...s.at(-1)); // a dot is a line too
				c.stroke();
			}
			if (document.activeElement === pad && pad.matches(":focus-visible")) {
				c.strokeStyle = css.getPropertyValue("--accent");
				c.lineWidth = 0.012;
				c.beginPath();
				c.arc(...pen, down ? 0.02 : 0.045, 0, 7);
				c.stroke();
			}
		};
		const bars = $("#bars");
		bars.innerHTML = Array.from({ length: 10 }, (_, d) => `<li><span>${d}</span><i></i><span></span></li>`).join("");
		const look = (pixels, probs) => {
			$("#eye").innerHTML = `<rect width="8" height="8" fill="var(--fill)"/>` + Array.from(pixels, (v, i) =>
				v ? `<rect x="${i % 8}" y="${i >> 3}" width="1.02" height="1.02" fill="var(--ink)" fill-opacity="${v.toFixed(3)}"/>` : "").join("");
			[...bars.children].forEach((li, d) => {
				const p = probs ? probs[d] : 0;
				li.classList.toggle("best", p > 0.5);
				$("i", li).style.setProperty("--p", p);
				li.lastChild.textContent = probs ? `${Math.round(p * 100)} %` : "";
			});
		};
		const digits = card("digits", async () => {
			const pixels = image?.pixels ?? rasterise(strokes);
			if (!strokes.length && !image) {
				result.textContent = PROMPT;
				return look(pixels);
			}
			const { probs, label, time } = await digits.run({ x: [pixels, [1, 64]] });
			look(pixels, probs);
			const sure = probs[Number(label[0])];
			const text = `${sure > 0.5 ? "This is a" : "Perhaps a"} ${label[0]}`;
			result.innerHTML = `${sure > 0.5 ? "This is a" : "Perhaps a"} <b>${label[0]}</b>, ${Math.round(sure * 100)} % sure` +
				`${image ? `; it is a ${image.label}` : ""} <small>(${milliseconds(time)})</small>`;
			say(`${text}, ${Math.round(sure * 100)} percent sure`);
		});
		const changed = () => {
			image = null;
			draw();
			if (!digits.ready) {
				look(rasterise(strokes));
				result.textContent = strokes.length ? "Your drawing is read as soon as the model is here." : PROMPT;
			}
			digits.update();
		};
		pad.addEventListener("pointerdown", (e) => {
			if (e.button) return;
			pad.setPointerCapture(e.pointerId);
			strokes.push([fraction(pad, e)]);
			changed();
		});
		pad.addEventListener("pointermove", (e) => {
			if (!pad.hasPointerCapture(e.pointerId)) return;
			for (const one of e.getCoalescedEvents?.() ?? [e]) strokes.at(-1).push(fraction(pad, one));
			changed();
		});
		const undo = () => {
			strokes.pop();
			down = false;
			changed();
		};
		pad.addEventListener("keydown", (e) => {
			const move = ARROWS[e.key];
			if (move) {
				pen = pen.map((x, i) => Math.min(0.95, Math.max(0.05, x + move[i] * 0.04)));
				if (down) strokes.at(-1).push(pen);
				down ? changed() : draw();
			} else if (e.key === " ") {
				if ((down = !down)) strokes.push([pen]);
				say(down ? "Pen down" : "Pen up");
				changed();
			} else if (e.key === "Backspace") undo();
			else return;
			e.preventDefault();
		});
		pad.addEventListener("focus", draw);
		pad.addEventListener("blur", draw);
		$("#pad-undo").onclick = undo;
		$("#pad-clear").onclick = () => {
			strokes = [];
			down = false;
			changed();
			say("Cleared");
		};
		const fetchTest = async () => {
			const get = async (file) => {
				const response = await fetch(file).catch(() => null);
				if (!response?.ok) throw new Error(`The file ${file} did not arrive. Run “make web” or go online, then try again.`);
				return readNpy(await response.arrayBuffer()).data;
			};
			const [images, labels] = await Promise.all([get("test-images.npy"), get("test-labels.npy")]);
			test ??= { images, labels, next: 0 };
			return test;
		};
		const one = async () => {
			try {
				const { images, labels, next } = await fetchTest();
				test.next = (next + 1) % labels.length;
				strokes = [];
				image = { pixels: images.slice(next * 64, next * 64 + 64), label: labels[next] };
			} catch (e) {
				return complain(digits.section, e, one);
			}
			draw();
			look(image.pixels);
			digits.update();
		};
		const all = async () => {
			try {
				const { images, labels } = await fetchTest();
				if (!digits.ready) throw new Error("The model is not here yet. Wait for it, then try again.");
				const { label, time } = await digits.run({ x: [images, [labels.length, 64]] });
				const right = label.filter((l, i) => l === labels[i]).length;
				result.textContent = `${right} of ${labels.length} test images right, in ${milliseconds(time)}.`;
				say(result.textContent);
			} catch (e) {
				complain(digits.section, e, all);
			}
		};
		$("#digit-one").onclick = one;
		$("#digit-all").onclick = all;
		redraws.push(draw);
		look(new Float32Array(64));
	}

	// --- the posterior ---

	{
		const CHAINS = 4, WARMUP = 500, GOAL = 1000, KEPT = 1000;
		const button = $("#sample"), select = $("#quantity"), result = $("#sample-result"), done = $("#sample-progress");
		const SCHOOLS = [..."ABCDEFGH"];
		const quantities = [
			["mu, the mean effect", (q) => q[0]],
			["tau, how schools differ", (q) => Math.exp(q[1])],
			...SCHOOLS.map((s, i) => [`effect in school ${s}`, (q) => q[0] + Math.exp(q[1]) * q[2 + i]]),
		];
		const short = ["mu", "tau", ...SCHOOLS.map((s) => `school ${s}`)];
		select.innerHTML = quantities.map(([name], i) => `<option value="${i}">${name}</option>`).join("");
		let seed = 1, goal = GOAL, running = false, drawn, table = 0, painted = 0;
		// `before`: what streams of draws that were cut off have left; each one warms up for itself
		const reset = () => (drawn = { warm: 0, kept: 0, before: 0, values: quantities.map(() => Array.from({ length: CHAINS }, () => [])), steps: 0, diverged: 0, time: 0 });
		reset();
		const colour = (c) => `var(--c${c})`;

		const trace = (chains) => {
			const svg = $("#trace"), w = svg.clientWidth, h = svg.clientHeight;
			const shown = chains.map((c) => c.slice(-KEPT)), length = Math.max(...shown.map((c) => c.length));
			if (!length) return paint(svg, `<rect width="${w}" height="${h}" rx="6" fill="var(--fill)"/>`);
			const flat = shown.flat();
			let low = Infinity, high = -Infinity;
			for (const v of flat) (low = Math.min(low, v)), (high = Math.max(high, v));
			const x = scale(0, Math.max(length - 1, 100), 34, w - 4), y = scale(low, high, h - 8, 8);
			paint(svg, `<rect width="${w}" height="${h}" rx="6" fill="var(--fill)"/>` +
				ticks(low, high, 4).map((t) => `<line x1="34" x2="${w}" y1="${y(t)}" y2="${y(t)}" stroke="var(--line)"/><text x="30" y="${y(t) + 4}" text-anchor="end">${signed(t)}</text>`).join("") +
				shown.map((c, i) => `<path d="${path(c.map((v, j) => [x(j), y(v)]))}" fill="none" stroke="${colour(i)}" stroke-width="1" stroke-opacity=".65"/>`).join(""));
		};
		const histogram = (chains) => {
			const svg = $("#histogram"), w = svg.clientWidth, h = svg.clientHeight;
			const all = Float64Array.from(chains.flat()).sort();
			if (all.length < 2) return paint(svg, `<rect width="${w}" height="${h}" rx="6" fill="var(--fill)"/>`);
			const at = (p) => all[Math.min(all.length - 1, Math.floor(p * all.length))];
			const low = at(0.002), high = at(0.998), BINS = w < 500 ? 30 : 50;
			const counts = new Array(BINS).fill(0), bin = scale(low, high, 0, BINS);
			for (const v of all) if (v >= low && v < high) counts[Math.floor(bin(v))]++;
			const x = scale(low, high, 8, w - 8), y = scale(0, Math.max(...counts, 1), h - 38, 8);
			paint(svg, `<rect width="${w}" height="${h}" rx="6" fill="var(--fill)"/>` +
				counts.map((n, i) => {
					const left = 8 + (i * (w - 16)) / BINS;
					return n ? `<rect x="${left.toFixed(1)}" y="${y(n).toFixed(1)}" width="${((w - 16) / BINS - 1).toFixed(1)}" height="${(h - 38 - y(n)).toFixed(1)}" fill="var(--accent)"/>` : "";
				}).join("") +
				`<line x1="${x(at(0.05))}" x2="${x(at(0.95))}" y1="${h - 31}" y2="${h - 31}" stroke="var(--ink)" stroke-width="3"/><circle cx="${x(average(all))}" cy="${h - 31}" r="5" fill="var(--ink)"/>` +
				ticks(low, high, 6).map((t) => `<text x="${x(t)}" y="${h - 10}" text-anchor="middle">${signed(t)}</text>`).join(""));
		};
		const draw = (whole = true) => {
			const now = performance.now();
			if (!whole && now - painted < (calm.matches ? 1500 : 90)) return;
			painted = now;
			const chosen = Number(select.value), chains = drawn.values[chosen];
			trace(chains);
			histogram(chains);
			done.value = (drawn.warm + drawn.kept) / (WARMUP + goal);
			const { warm, kept } = drawn;
			result.textContent = !warm && !kept ? "Nothing drawn yet."
				: !kept ? `Warming up: ${warm} of ${WARMUP} steps of four chains`
				: `${number(CHAINS * kept)} draws, ${number(drawn.steps)} gradients, ${number((1000 * drawn.steps) / drawn.time)} gradients a second${drawn.diverged ? `, ${drawn.diverged} diverged` : ""}`;
			$("#sample-save").disabled = !kept;
			if (!whole && now - table < 700) return;
			table = now;
			$("#summary tbody").innerHTML = quantities.map((_, i) => {
				const s = kept > 20 ? summarise(drawn.values[i]) : null;
				const cells = s ? [signed(s.mean, 2), number(s.sd, 2), signed(s.low, 1), signed(s.high, 1), s.ess ? number(s.ess) : "", s.rhat ? number(s.rhat, 3) : ""] : ["", "", "", "", "", ""];
				if (s && i === chosen) $("#histogram").setAttribute("aria-label", `Histogram of ${quantities[i][0]}: mean ${cells[0]}, nine tenths of the draws between ${cells[2]} and ${cells[3]}`);
				return `<tr${i === chosen ? ' class="chosen"' : ""}><th scope="row">${short[i]}</th>${cells.map((c) => `<td>${c}</td>`).join("")}</tr>`;
			}).join("");
		};
		let last = 0;
		on.draws = ({ seed: of, rounds }) => {
			if (of !== seed) return;
			for (const round of rounds) {
				round[0].warmup ? drawn.warm++ : drawn.kept++;
				for (const [c, d] of round.entries()) {
					drawn.steps += d.steps;
					if (d.warmup) continue;
					drawn.diverged += d.diverged;
					quantities.forEach(([, f], i) => drawn.values[i][c].push(f(d.q)));
				}
			}
			const now = performance.now();
			drawn.time += now - last;
			last = now;
			draw(false);
		};
		const posterior = card("eight_schools", async () => {});
		const name = () => (button.textContent = running ? "Pause" : drawn.kept >= goal ? "1,000 more" : drawn.warm || drawn.kept ? "Go on" : "Sample");
		const toggle = async () => {
			if (running) return call("pause");
			if (!posterior.ready) {
				result.textContent = "The model is not here yet. Sample as soon as it is.";
				return;
			}
			if (drawn.kept >= goal) goal += GOAL;
			running = true;
			name();
			say("Sampling");
			last = performance.now();
			let mine = seed;
			try {
				await call("sample", { name: "eight_schools", chains: CHAINS, warmup: WARMUP, goal: goal - drawn.before, seed });
				complain(posterior.section, null);
			} catch (e) {
				complain(posterior.section, new Error(`Sampling has stopped: ${e.message} The draws so far stay.`));
				if (mine === seed) {
					mine = ++seed;
					drawn.warm = 0;
					drawn.before = drawn.kept;
				}
			}
			if (mine !== seed) return;
			running = false;
			name();
			draw();
			const s = drawn.kept > 20 && summarise(drawn.values[0]);
			say(s ? `${result.textContent}. Mean of mu ${s.mean.toFixed(2)}, standard deviation ${s.sd.toFixed(2)}` : "Paused");
		};
		button.onclick = toggle;
		$("#sample-again").onclick = async () => {
			if (running) await call("pause");
			seed++;
			goal = GOAL;
			running = false;
			reset();
			name();
			draw();
			say("All draws are gone");
		};
		$("#sample-save").onclick = () => {
			const head = ["chain", "draw", ...short.map((s) => s.replace(" ", "_"))].join(",");
			const rows = [];
			for (let c = 0; c < CHAINS; c++)
				for (let i = 0; i < drawn.values[0][c].length; i++) rows.push([c, i, ...drawn.values.map((v) => v[c][i])].join(","));
			const url = URL.createObjectURL(new Blob([`${head}\n${rows.join("\n")}\n`], { type: "text/csv" }));
			Object.assign(document.createElement("a"), { href: url, download: "eight_schools.csv" }).click();
			setTimeout(() => URL.revokeObjectURL(url), 1000);
		};
		select.onchange = () => draw();
		redraws.push(draw);
	}

	// --- k-means ---

	{
		const plane = $("#plane"), groups = $("#groups"), result = $("#kmeans-result");
		const EMPTY = result.textContent;
		let points = [], cross = [0.5, 0.5], seed = 1, random = uniforms(7), found = null;
		const MARKS = [ // a group is told by shape as well as by colour
			`<circle r="5"/>`, `<rect x="-4.5" y="-4.5" width="9" height="9"/>`, `<path d="M0-6 5.5 4.5-5.5 4.5Z"/>`, `<path d="M0-6.5 6 0 0 6.5-6 0Z"/>`,
			`<path d="M0 6 5.5-4.5-5.5-4.5Z"/>`, `<path d="M-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3Z"/>`, `<rect x="-6" y="-3" width="12" height="6"/>`, `<rect x="-3" y="-6" width="6" height="12"/>`];
		const draw = () => {
			const w = plane.clientWidth, h = plane.clientHeight;
			const at = ([x, y]) => [x * w, y * h];
			const place = (p) => `translate(${at(p).map((v) => v.toFixed(1)).join(" ")})`;
			let content = "";
			if (found) content += points.slice(0, found.group.length).map((p, i) => {
				const g = found.group[i], [a, b] = [at(p), at(found.centres[g])];
				return `<line x1="${a[0]}" y1="${a[1]}" x2="${b[0]}" y2="${b[1]}" stroke="var(--c${g})" stroke-opacity=".3"/>`;
			}).join("");
			content += points.map((p, i) => {
				const g = found?.group[i];
				return `<g transform="${place(p)}" fill="${g === undefined ? "var(--soft)" : `var(--c${g})`}">${MARKS[g ?? 0]}</g>`;
			}).join("");
			if (found) content += found.centres.map((c, g) => `<g class="centre" transform="${place(c)}" fill="none" stroke="var(--c${g})" stroke-width="3"><circle r="13" fill="var(--sheet)" fill-opacity=".6"/><path d="M-6 0h12M0-6v12"/></g>`).join("");
			if (plane.matches(":focus-visible")) content += `<path transform="${place(cross)}" d="M-14 0H14M0-14V14" stroke="var(--ink)" stroke-width="2"/>`;
			if (!points.length) content += `<text x="${w / 2}" y="${h / 2}" text-anchor="middle">Click or tap here</text>`;
			paint(plane, content);
		};
		const kmeans = card("kmeans", async () => {
			if (!points.length) {
				found = null;
				result.textContent = EMPTY;
				return draw();
			}
			const now = points.slice(), k = Math.min(Number(groups.value), now.length);
			const first = firstCentres(now, k, uniforms(seed));
			const r = await kmeans.run({ rows: [now.flat(), [now.length, 2]], first: [first.flat(), [k, 2]] });
			found = { group: Array.from(r.group, Number), centres: Array.from({ length: k }, (_, i) => [r.centres[2 * i], r.centres[2 * i + 1]]) };
			const sizes = Array.from(r.sizes, Number);
			const text = `${number(now.length)} ${now.length === 1 ? "point" : "points"} in ${k === 1 ? "one group" : `${k} groups of ${sizes.join(", ")}`} after ${r.steps[0]} ${Number(r.steps[0]) === 1 ? "step" : "steps"}; sum of squares ${number(r.spread[0], 3)}`;
			result.innerHTML = `${text} <small>(${milliseconds(r.time)})</small>`;
			say(text);
			draw();
		});
		const changed = () => {
			if (found) found.group.length = Math.min(found.group.length, points.length);
			draw();
			if (!kmeans.ready) result.textContent = points.length ? `${points.length} points, grouped as soon as the model is here.` : EMPTY;
			kmeans.update();
		};
		plane.addEventListener("pointerdown", (e) => {
			if (e.button) return;
			points.push((cross = fraction(plane, e)));
			changed();
		});
		const undo = () => {
			points.pop();
			changed();
		};
		plane.addEventListener("keydown", (e) => {
			const move = ARROWS[e.key];
			if (move) {
				cross = cross.map((x, i) => Math.min(0.98, Math.max(0.02, x + move[i] * (e.shiftKey ? 0.01 : 0.05))));
				draw();
				say(`Cross at ${Math.round(cross[0] * 100)}, ${Math.round(100 - cross[1] * 100)}`);
			} else if (e.key === " " || e.key === "Enter") {
				points.push(cross);
				changed();
			} else if (e.key === "Backspace") undo();
			else return;
			e.preventDefault();
		});
		plane.addEventListener("focus", draw);
		plane.addEventListener("blur", draw);
		$("#points-undo").onclick = undo;
		$("#points-clear").onclick = () => {
			points = [];
			found = null;
			changed();
		};
		$("#points-clouds").onclick = () => {
			for (const cloud of [0, 1, 2]) {
				const [x, y] = [0.15 + 0.7 * random(), 0.15 + 0.7 * random()];
				for (let i = 0; i < 30; i++) points.push([x + 0.05 * normal(random), y + 0.07 * normal(random)].map((v) => Math.min(0.98, Math.max(0.02, v))));
			}
			changed();
		};
		$("#points-start").onclick = () => {
			seed++;
			changed();
		};
		groups.oninput = () => {
			$("#groups-value").textContent = groups.value;
			changed();
		};
		redraws.push(draw);
	}

	// --- the Nile ---

	{
		const svg = $("#nile"), noise = $("#noise"), drift = $("#drift"), result = $("#kalman-result"), gap = $("#nile-gap");
		const START = [4.179, 3.167]; // what Durbin and Koopman find
		const FIRST = 1871, [GAP_FROM, GAP_TO] = [1891 - FIRST, 1911 - FIRST];
		let hidden = new Set(), found = null, year = null, fitting = false;
		const settings = () => ({
			volume: [NILE.map((v, i) => (hidden.has(i) ? NaN : v)), [NILE.length]],
			noise: [[10 ** noise.value], []],
			drift: [[10 ** drift.value], []],
		});
		const draw = () => {
			const w = svg.clientWidth, h = svg.clientHeight;
			const x = scale(0, NILE.length - 1, 44, w - 10), y = scale(350, 1450, h - 26, 10);
			let content = [400, 600, 800, 1000, 1200, 1400].map((t) => `<line x1="44" x2="${w}" y1="${y(t)}" y2="${y(t)}" stroke="var(--line)"/><text x="38" y="${y(t) + 4}" text-anchor="end">${t}</text>`).join("");
			for (let t = 1880; t <= 1970; t += w < 500 ? 30 : 10) content += `<text x="${x(t - FIRST)}" y="${h - 7}" text-anchor="${t < 1970 ? "middle" : "end"}">${t}</text>`;
			if (found) {
				const sd = Array.from(found.variance, (v) => Math.min(2 * Math.sqrt(v), 3000));
				const up = Array.from(found.level, (l, i) => [x(i), Math.max(-50, y(l + sd[i]))]);
				const low = Array.from(found.level, (l, i) => [x(i), Math.min(h + 50, y(l - sd[i]))]);
				content += `<path d="${path([...up, ...low.reverse()])}Z" fill="var(--band)"/><path d="${path(Array.from(found.level, (l, i) => [x(i), y(l)]))}" fill="none" stroke="var(--accent)" stroke-width="2.5"/>`;
			}
			content += NILE.map((v, i) => `<circle cx="${x(i)}" cy="${y(v)}" r="3" ${hidden.has(i) ? 'fill="none" stroke="var(--soft)" stroke-dasharray="2"' : 'fill="var(--ink)"'}/>`).join("");
			if (year !== null) content += `<line x1="${x(year)}" x2="${x(year)}" y1="8" y2="${h - 24}" stroke="var(--accent)" stroke-dasharray="3"/>` +
				`<text x="${Math.min(Math.max(x(year), 44 + 105), w - 105)}" y="20" text-anchor="middle" style="fill:var(--ink)" paint-order="stroke" stroke="var(--fill)" stroke-width="5">${FIRST + year}: ${hidden.has(year) ? "not measured" : NILE[year]}${found ? `, level ${found.level[year].toFixed(0)} ± ${(2 * Math.sqrt(found.variance[year])).toFixed(0)}` : ""}</text>`;
			paint(svg, content);
		};
		const named = () => {
			$("#noise-value").textContent = number(10 ** noise.value, noise.value < 2 ? 1 : 0);
			$("#drift-value").textContent = number(10 ** drift.value, drift.value < 2 ? 1 : 0);
			gap.setAttribute("aria-pressed", hidden.has(GAP_FROM) && hidden.has(GAP_TO - 1));
		};
		const kalman = card("kalman", async () => {
			found = await kalman.run(settings());
			const text = `Log likelihood ${signed(found.loglik[0], 2)}, ${number(NILE.length - hidden.size)} years measured`;
			result.innerHTML = `${text} <small>(${milliseconds(found.time)})</small>`;
			if (year === null) say(text);
			draw();
		});
		const changed = () => {
			named();
			draw();
			kalman.update();
		};
		const toggle = () => {
			hidden.delete(year) || hidden.add(year);
			tell();
			changed();
		};
		const tell = () => say(`${FIRST + year}: ${hidden.has(year) ? "not measured" : `measured ${NILE[year]}`}${found ? `, level ${found.level[year].toFixed(0)}, plus or minus ${(2 * Math.sqrt(found.variance[year])).toFixed(0)}` : ""}`);
		const nearest = (e) => Math.min(NILE.length - 1, Math.max(0, Math.round(scale(44, svg.clientWidth - 10, 0, NILE.length - 1)(fraction(svg, e)[0] * svg.clientWidth))));
		svg.addEventListener("click", (e) => {
			year = nearest(e);
			toggle();
		});
		svg.addEventListener("pointermove", (e) => {
			year = nearest(e);
			draw();
		});
		const leave = () => {
			year = null;
			draw();
		};
		svg.addEventListener("pointerleave", leave);
		svg.addEventListener("blur", leave);
		svg.addEventListener("keydown", (e) => {
			const move = ARROWS[e.key]?.[0] ?? { Home: -1000, End: 1000 }[e.key];
			if (move) {
				year = Math.min(NILE.length - 1, Math.max(0, (year ?? -1) + move));
				draw();
				tell();
			} else if ((e.key === " " || e.key === "Enter") && year !== null) toggle();
			else return;
			e.preventDefault();
		});
		noise.oninput = drift.oninput = changed;
		gap.onclick = () => {
			const hide = gap.getAttribute("aria-pressed") !== "true";
			for (let i = GAP_FROM; i < GAP_TO; i++) hide ? hidden.add(i) : hidden.delete(i);
			changed();
		};
		const set = ([n, d]) => ([noise.value, drift.value] = [n, d]);
		$("#nile-reset").onclick = () => {
			set(START);
			hidden = new Set();
			changed();
		};
		const fit = async () => {
			if (fitting || !kalman.ready) return;
			fitting = true;
			result.textContent = "Searching …";
			let runs = 0;
			try {
				const best = await climb(async ([n, d]) => {
					const r = await kalman.run({ ...settings(), noise: [[10 ** n], []], drift: [[10 ** d], []] });
					runs++;
					return n > 7 || d > 6 || n < 1 || d < -1 ? -Infinity : r.loglik[0];
				}, [Number(noise.value), Number(drift.value)]);
				set(best);
				changed();
			} catch (e) {
				complain(kalman.section, e, fit);
			}
			fitting = false;
		};
		$("#nile-fit").onclick = fit;
		set(START);
		named();
		redraws.push(draw);
	}

	const redraw = () => redraws.forEach((f) => f());
	new ResizeObserver(redraw).observe(document.body);
	dark.addEventListener("change", redraw);
	redraw();
	if (navigator.connection?.saveData) {
		state.textContent = "This browser saves data. ONNX Runtime Web takes 14 MB, or 4 MB where the server compresses.";
		const load = Object.assign(document.createElement("button"), { textContent: "Load it", onclick: () => (load.remove(), loadRuntime()) });
		state.after(load);
	} else loadRuntime();
}

function checkWebAssembly() {
	// A function with an i8x16 in it: ONNX Runtime Web is built with SIMD.
	const simd = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];
	if (typeof WebAssembly !== "object")
		throw new Error("This browser does not run WebAssembly, or it is switched off. Switch it on, or open the page in another browser.");
	if (!WebAssembly.validate(new Uint8Array(simd)))
		throw new Error("This browser has WebAssembly without SIMD, which ONNX Runtime Web needs. Any browser since 2023 has it.");
}

const NILE = [
	1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
	1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
	831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
	781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
	744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
];

if (typeof document !== "undefined") show();
else if (typeof WorkerGlobalScope !== "undefined") work();
