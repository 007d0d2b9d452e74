// The driver of ONNX Runtime in Java. Usage: java -cp onnxruntime.jar RunJava.java CASES RESULTS < lines of cases.txt
// The files are those that cases.py describes.
import ai.onnxruntime.*;
import java.io.*;
import java.nio.*;
import java.nio.file.*;
import java.util.*;

public class RunJava {
	static final Map<String, OnnxJavaType> TYPES = new LinkedHashMap<>();
	static {
		TYPES.put("float64", OnnxJavaType.DOUBLE);
		TYPES.put("float32", OnnxJavaType.FLOAT);
		TYPES.put("float16", OnnxJavaType.FLOAT16);
		TYPES.put("bool", OnnxJavaType.BOOL);
		TYPES.put("int8", OnnxJavaType.INT8);
		TYPES.put("int16", OnnxJavaType.INT16);
		TYPES.put("int32", OnnxJavaType.INT32);
		TYPES.put("int64", OnnxJavaType.INT64);
		TYPES.put("uint8", OnnxJavaType.UINT8);
	}

	static Map<String, OnnxTensor> read(OrtEnvironment env, Path at) throws Exception {
		byte[] data = Files.readAllBytes(Path.of(at + ".bin"));
		Map<String, OnnxTensor> feed = new LinkedHashMap<>();
		int begin = 0;
		for (String line : Files.readAllLines(Path.of(at + ".in"))) {
			String[] words = line.split(" ");
			OnnxJavaType type = TYPES.get(words[1]);
			if (type == null)
				throw new OrtException("this API has no tensors of " + words[1]);
			long[] shape = Arrays.stream(words).skip(2).mapToLong(Long::parseLong).toArray();
			int size = type.size;
			for (long n : shape)
				size *= (int) n;
			ByteBuffer bytes = ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
			bytes.put(data, begin, size).rewind();
			feed.put(words[0], OnnxTensor.createTensor(env, bytes, shape, type));
			begin += size;
		}
		return feed;
	}

	static void write(Path at, OrtSession.Result results) throws Exception {
		StringBuilder text = new StringBuilder();
		try (OutputStream data = Files.newOutputStream(Path.of(at + ".bin"))) {
			for (Map.Entry<String, OnnxValue> r : results) {
				OnnxTensor t = (OnnxTensor) r.getValue();
				String name = null;
				for (Map.Entry<String, OnnxJavaType> e : TYPES.entrySet())
					if (e.getValue() == t.getInfo().type)
						name = e.getKey();
				if (name == null)
					throw new OrtException("this API has no tensors of the type of " + r.getKey());
				ByteBuffer bytes = t.getByteBuffer();
				byte[] copy = new byte[bytes.remaining()];
				bytes.get(copy);
				data.write(copy);
				text.append(r.getKey()).append(' ').append(name);
				for (long n : t.getInfo().getShape())
					text.append(' ').append(n);
				text.append('\n');
			}
		}
		Files.writeString(Path.of(at + ".out"), text);
	}

	public static void main(String[] args) throws Exception {
		Path cases = Path.of(args[0]), results = Path.of(args[1]);
		OrtEnvironment env = OrtEnvironment.getEnvironment(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL, "RunJava");
		Files.writeString(results.resolve("version"), "ONNX Runtime " + env.getVersion() + " (Java)");
		OrtSession.SessionOptions options = new OrtSession.SessionOptions();
		options.setIntraOpNumThreads(1);
		OrtSession session = null;
		String loaded = "", line;
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		while ((line = in.readLine()) != null) {
			String[] words = line.split(" ");
			String failed = "load ";
			try {
				if (!words[1].equals(loaded)) {
					loaded = "";
					if (session != null)
						session.close();
					session = null;
					session = env.createSession(cases.resolve(words[1]).toString(), options);
					loaded = words[1];
				}
				failed = "run ";
				Map<String, OnnxTensor> feed = read(env, cases.resolve(words[0]));
				try (OrtSession.Result r = session.run(feed)) {
					write(results.resolve(words[0]), r);
				}
				OnnxValue.close(feed);
			} catch (Exception e) {
				Files.writeString(results.resolve(words[0] + ".out"), failed + e.toString().replaceAll("\\s+", " ") + "\n");
			}
		}
	}
}
