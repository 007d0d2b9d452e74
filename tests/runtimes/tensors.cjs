// The files of inputs and outputs, as cases.py says, from and to tensors of ONNX Runtime; in Node and in browsers.
const arrays = {
	float64: Float64Array, float32: Float32Array, float16: Uint16Array, bool: Uint8Array,
	int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
	uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

function read(ort, text, bytes) {
	const feed = {};
	let at = 0;
	for (const line of text.split("\n").filter((l) => l)) {
		const [name, dtype, ...shape] = line.split(" ");
		const dims = shape.map(Number);
		const kind = arrays[dtype];
		const size = dims.reduce((a, b) => a * b, 1) * kind.BYTES_PER_ELEMENT;
		let data = new kind(new Uint8Array(bytes.subarray(at, at + size)).buffer); // a copy, which is aligned
		if (dtype === "float16" && typeof Float16Array !== "undefined") data = new Float16Array(data.buffer);
		feed[name] = new ort.Tensor(dtype, data, dims);
		at += size;
	}
	return feed;
}

function write(names, outputs) {
	const parts = names.map((n) => {
		const d = outputs[n].data;
		return new Uint8Array(d.buffer, d.byteOffset, d.byteLength);
	});
	const data = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
	let at = 0;
	for (const p of parts) {
		data.set(p, at);
		at += p.length;
	}
	return { text: names.map((n) => [n, outputs[n].type, ...outputs[n].dims].join(" ") + "\n").join(""), data };
}

if (typeof module !== "undefined") module.exports = { read, write };
