#!/bin/sh
# Prints the folder of Python.h of the first Python given that has one; nothing if none has.
for python in "$@"; do
	folder=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null) || continue
	if [ -f "$folder/Python.h" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
		echo "$folder"
		exit
	fi
done
