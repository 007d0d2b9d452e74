# ptg.mk: makes x.onnx from x.ptg, again whenever the .ptg file, a file that it uses or its weights
# change. In your Makefile:
#
#   include $(or $(shell pkg-config --variable=makefile ptgc),$(error ptgc.pc not found: set PKG_CONFIG_PATH))
#   all: digits.onnx
#
# PTGC is the command, PTGCFLAGS its options (--opset 17). What a model is made from is kept beside it
# in x.onnx.d; models in folders of their own need `-include folder/*.onnx.d` besides.

PTGC ?= ptgc
PTGCFLAGS ?=

%.onnx: %.ptg
	$(PTGC) $(PTGCFLAGS) -MD -MP -MF $@.d $< -o $@

# A target of an included file is not to become what `make` alone makes.
ptgc_goal := $(.DEFAULT_GOAL)
-include $(wildcard *.onnx.d)
.DEFAULT_GOAL := $(ptgc_goal)
