# ort.mk: makes a program from its C file with ONNX Runtime. ORT_LIB is the library's file, by default that of the Python
# package, and ORT_INCLUDE the header's folder, as a release of ONNX Runtime has them in lib/ and include/. Without
# ORT_INCLUDE the header of a Go module that ships a copy is used (needs go).
ORT_LIB ?= $(shell $(PYTHON) -c 'import glob, importlib.util as u; \
	print(glob.glob(u.find_spec("onnxruntime").submodule_search_locations[0] + "/capi/libonnxruntime.so.*")[0])')
ORT_INCLUDE ?= $(shell go mod download -json github.com/yalue/onnxruntime_go@v1.27.0 | sed -n 's/.*"Dir": "\(.*\)",/\1/p')

%: %.c ../ort.h ../summary.h
	@test -f '$(ORT_INCLUDE)/onnxruntime_c_api.h' || { echo 'ORT_INCLUDE has no onnxruntime_c_api.h'; exit 1; }
	ln -sf '$(ORT_LIB)' libonnxruntime.so.1
	$(CC) -std=c11 -O2 -Wall -Wextra -I'$(ORT_INCLUDE)' $< -o $@ libonnxruntime.so.1 -Wl,-rpath,'$$ORIGIN' -lm
