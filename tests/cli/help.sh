# --help is for people: it is read here as a whole when it changes
ptgc --help
ptgc -h | cmp - /dev/fd/3 3<<END && echo same
$(ptgc --help)
END
ptgc --version
ptgc fmt --help | sed -n 1,2p
