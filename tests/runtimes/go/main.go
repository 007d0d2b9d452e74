// The driver of ONNX Runtime in Go, by yalue/onnxruntime_go.
// Usage: run_go LIBRARY CASES RESULTS < lines of cases.txt   (the files are those that cases.py describes)
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

type dtype struct {
	kind   ort.TensorElementDataType
	scalar func(data []byte) (ort.Value, error) // of a 0-d tensor
	tensor func(shape ort.Shape, data []byte) (ort.Value, error)
	bytes  func(v ort.Value) []byte
}

func bytesOf[T ort.TensorData](data []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(one)))
}

func of[T ort.TensorData](kind ort.TensorElementDataType) dtype {
	return dtype{
		kind,
		func(data []byte) (ort.Value, error) {
			var value T
			copy(bytesOf(unsafe.Slice(&value, 1)), data)
			return ort.NewScalar(value)
		},
		func(shape ort.Shape, data []byte) (ort.Value, error) {
			t, err := ort.NewEmptyTensor[T](shape)
			if err == nil {
				copy(bytesOf(t.GetData()), data)
			}
			return t, err
		},
		func(v ort.Value) []byte {
			if s, ok := v.(*ort.Scalar[T]); ok {
				value := s.GetData()
				return append([]byte{}, bytesOf(unsafe.Slice(&value, 1))...)
			}
			return bytesOf(v.(*ort.Tensor[T]).GetData())
		},
	}
}

// The package has no Go type for float16: a tensor of bytes, one at least.
var half = dtype{
	ort.TensorElementDataTypeFloat16,
	func(data []byte) (ort.Value, error) { return nil, fmt.Errorf("this API has no 0-d tensors of float16") },
	func(shape ort.Shape, data []byte) (ort.Value, error) {
		return ort.NewCustomDataTensor(shape, append(make([]byte, 0, len(data)+1), append(data, 0)[:max(len(data), 1)]...), ort.TensorElementDataTypeFloat16)
	},
	func(v ort.Value) []byte {
		size := 2
		for _, n := range v.GetShape() {
			size *= int(n)
		}
		return v.(*ort.CustomDataTensor).GetData()[:size]
	},
}

var dtypes = map[string]dtype{
	"float64": of[float64](ort.TensorElementDataTypeDouble),
	"float32": of[float32](ort.TensorElementDataTypeFloat),
	"float16": half,
	"bool":    of[bool](ort.TensorElementDataTypeBool),
	"int8":    of[int8](ort.TensorElementDataTypeInt8),
	"int16":   of[int16](ort.TensorElementDataTypeInt16),
	"int32":   of[int32](ort.TensorElementDataTypeInt32),
	"int64":   of[int64](ort.TensorElementDataTypeInt64),
	"uint8":   of[uint8](ort.TensorElementDataTypeUint8),
	"uint16":  of[uint16](ort.TensorElementDataTypeUint16),
	"uint32":  of[uint32](ort.TensorElementDataTypeUint32),
	"uint64":  of[uint64](ort.TensorElementDataTypeUint64),
}

func nameOf(kind ort.TensorElementDataType) string {
	for name, d := range dtypes {
		if d.kind == kind {
			return name
		}
	}
	return kind.String()
}

type model struct {
	session         *ort.DynamicAdvancedSession
	inputs, outputs []ort.InputOutputInfo
}

func names(infos []ort.InputOutputInfo) (all []string) {
	for _, info := range infos {
		all = append(all, info.Name)
	}
	return all
}

func load(path string, options *ort.SessionOptions) (m model, err error) {
	if m.inputs, m.outputs, err = ort.GetInputOutputInfoWithOptions(path, options); err != nil {
		return m, err
	}
	m.session, err = ort.NewDynamicAdvancedSession(path, names(m.inputs), names(m.outputs), options)
	return m, err
}

func readInputs(path string) (map[string]ort.Value, error) {
	data, err := os.ReadFile(path + ".bin")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path + ".in")
	if err != nil {
		return nil, err
	}
	feed := map[string]ort.Value{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Split(line, " ")
		var shape ort.Shape
		size := map[string]int{"float16": 2}[words[1]]
		if size == 0 {
			zero, err := dtypes[words[1]].scalar(nil)
			if err != nil {
				return nil, err
			}
			size = len(dtypes[words[1]].bytes(zero))
		}
		for _, word := range words[2:] {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			shape = append(shape, int64(n))
			size *= n
		}
		if len(shape) == 0 {
			feed[words[0]], err = dtypes[words[1]].scalar(data[:size])
		} else {
			feed[words[0]], err = dtypes[words[1]].tensor(shape, data[:size])
		}
		if err != nil {
			return nil, err
		}
		data = data[size:]
	}
	return feed, nil
}

func (m model) run(at, out string) error {
	feed, err := readInputs(at)
	if err != nil {
		return err
	}
	inputs, outputs := make([]ort.Value, len(m.inputs)), make([]ort.Value, len(m.outputs))
	for i, info := range m.inputs {
		inputs[i] = feed[info.Name]
		defer inputs[i].Destroy()
	}
	// The package allocates outputs, but no 0-d ones.
	for i, info := range m.outputs {
		if len(info.Dimensions) == 0 {
			if outputs[i], err = dtypes[nameOf(info.DataType)].scalar(nil); err != nil {
				return err
			}
		}
	}
	if err = m.session.Run(inputs, outputs); err != nil {
		return err
	}
	text, data := "", []byte{}
	for i, info := range m.outputs {
		defer outputs[i].Destroy()
		name := nameOf(ort.TensorElementDataType(outputs[i].DataType()))
		text += info.Name + " " + name
		for _, n := range outputs[i].GetShape() {
			text += fmt.Sprintf(" %d", n)
		}
		text += "\n"
		data = append(data, dtypes[name].bytes(outputs[i])...)
	}
	must(os.WriteFile(out+".bin", data, 0o644))
	must(os.WriteFile(out+".out", []byte(text), 0o644))
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	library, cases, results := os.Args[1], os.Args[2], os.Args[3]
	ort.SetSharedLibraryPath(library)
	must(ort.InitializeEnvironment(ort.WithLogLevelFatal()))
	must(os.WriteFile(filepath.Join(results, "version"), []byte("ONNX Runtime "+ort.GetVersion()+" (Go, onnxruntime_go)"), 0o644))
	options, err := ort.NewSessionOptions()
	must(err)
	must(options.SetIntraOpNumThreads(1))
	var m model
	loaded := ""
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		id, file, _ := strings.Cut(lines.Text(), " ")
		failed := "load"
		err = nil
		if file != loaded {
			if m.session != nil {
				m.session.Destroy()
			}
			loaded = ""
			m, err = load(filepath.Join(cases, file), options)
		}
		if err == nil {
			loaded, failed = file, "run"
			err = m.run(filepath.Join(cases, id), filepath.Join(results, id))
		}
		if err != nil {
			words := strings.Join(strings.Fields(err.Error()), " ")
			must(os.WriteFile(filepath.Join(results, id+".out"), []byte(failed+" "+words[:min(len(words), 300)]+"\n"), 0o644))
		}
	}
}
