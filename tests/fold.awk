# fold.awk: what a large model is made of. In: the text of --dump=onnx; out: where a statement of the
# user became more than 40 nodes, the model with one line for each statement and for each subgraph,
# which counts its nodes by operator; nothing where all statements are smaller.
#
#   y = 82 nodes: Abs 2, Add 19, Loop 1, ...
#     Loop body (int64, bool, double[n]) => (bool, double[n]) 5 nodes: ...
#
# A statement ends where a name of the user is given: what is only numbered (v12) belongs to the next.
# Nodes that several statements share count for the first one.

function counts(block,    i, j, n, op, ops, text, total) {
	n = split(names[block], ops, " ")
	for (i = 2; i <= n; i++) { # in alphabetical order
		op = ops[i]
		for (j = i; j > 1 && ops[j - 1] > op; j--)
			ops[j] = ops[j - 1]
		ops[j] = op
	}
	for (i = 1; i <= n; i++) {
		text = text (i > 1 ? ", " : "") ops[i] " " count[block, ops[i]]
		total += count[block, ops[i]]
	}
	amount = total + 0
	return text
}

# the line, or where it is too long, its title and below that the counts
function show(indent, title, what, block,    text, line) {
	text = counts(block)
	title = sprintf("%*s%s%d %s%s", indent, "", title == "" ? "" : title " ", amount, what, amount == 1 ? "" : "s")
	line = title (amount ? ": " text : "")
	if (length(line) > 100) {
		print title ":"
		line = sprintf("%*s%s", indent + 4, "", text)
	}
	while (length(line) > 100 && match(substr(line, 1, 101), /.*, /)) {
		print substr(line, 1, RLENGTH - 1)
		line = sprintf("%*s%s", indent + 4, "", substr(line, RLENGTH + 1))
	}
	print line
}

function add(block, op) {
	if (!count[block, op]++)
		names[block] = names[block] (names[block] == "" ? "" : " ") op
}

# "double[n] v12, int64 v13" without the names of what is numbered
function types(text) {
	gsub(/ v[0-9]+/, "", text)
	return text
}

function start_statement() {
	first = ++blocks
	level[first] = 0
	size = 0
	stack[0] = first
}

# a subgraph of the node whose line this is, or of the one before
function open_block(line, owner,    role) {
	role = line
	sub(/: graph = .*/, "", role)
	sub(/^.*[<, ]/, "", role)
	sub(/^.*: graph = [A-Za-z_0-9]+ /, "", line)
	sub(/ [<{]$/, "", line)
	level[++blocks] = ++depth
	stack[depth] = blocks
	ops_of[depth] = owner
	title[blocks] = owner " " role " " types(line)
}

BEGIN { depth = -1 }

depth < 0 { # the header, up to the graph
	head = head $0 "\n"
	if ($0 ~ /^[^ <>]+ \(.*\) => \(.*\) [<{]$/) {
		sub(/ [<{]\n$/, " {\n", head)
		depth = 0
		start_statement()
	}
	next
}
/^ *> \{$/ || /^}$/ { next }
/^ *}/ && / graph = / { depth--; open_block($0, ops_of[depth + 1]); next }
/^ *}/ { depth--; next }
/ = \{/ { add("constants", $1 ~ /\[/ ? substr($1, 1, index($1, "[") - 1) : $1); next }
/^ *[^<>(]* = [A-Za-z0-9.]+ [(<]/ {
	given = $0
	sub(/ = .*/, "", given)
	sub(/^ */, "", given)
	op = $0
	sub(/^ *[^<>(]* = /, "", op)
	sub(/ .*/, "", op)
	add(stack[depth], op)
	size++
	if (depth == 0) {
		result = given
		users = given
		gsub(/(^|, )(v[0-9]+|"")/, "", users)
	}
	if ($0 ~ / graph = /)
		open_block($0, op)
	if (size > largest)
		largest = size
}
depth == 0 && users != "" {
	title[first] = result " ="
	users = ""
	start_statement()
}

END {
	if (largest <= 40)
		exit
	printf "%s", head
	if (names["constants"] != "")
		show(3, "", "constant", "constants")
	for (i = 1; i <= blocks; i++)
		if (names[i] != "")
			show(3 + 2 * level[i], title[i] == "" ? "what no statement ends with:" : title[i], "node", i)
	print "}"
}
