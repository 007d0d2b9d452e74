/*
 * _native.c: calls models that ptgc wrote as C with -fentry (src/c/entry.c), for Python.
 *
 * In: the path of a shared library, the name of its graph; then arrays, by the buffer protocol.
 * Out: NumPy's arrays. Nothing is converted: another dtype, rank or length is an error. Python
 * numbers are taken for scalars. The GIL is released while a model runs, in a workspace of the
 * thread.
 *
 * Of Python only the stable ABI is used, of NumPy nothing but numpy.empty, so that one binary
 * serves all releases of both.
 */
#define Py_LIMITED_API 0x030C0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64 /* of a buffer; ptgc's own limit is less */

struct kind { /* a dtype, and the letter that buffers have for it */
	const char *dtype;
	char family; /* '?' bool, 'i' signed, 'u' unsigned, 'f' floating */
	size_t size;
};
static const struct kind kinds[] = {
	{"bool", '?', 1},   {"int8", 'i', 1},    {"int16", 'i', 2},   {"int32", 'i', 4},
	{"int64", 'i', 8},  {"uint8", 'u', 1},   {"uint16", 'u', 2},  {"uint32", 'u', 4},
	{"uint64", 'u', 8}, {"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8},
};

struct array { /* an input or an output */
	const struct kind *kind;
	PyObject *dtype; /* outputs: NumPy's */
	char *name;
	int rank;
};

typedef const char *interface_fn(void);
typedef const char *message_fn(int number);
typedef int lengths_fn(const int64_t *given, int64_t *lengths);
typedef int call_fn(const int64_t *given, const void *const *inputs, int64_t *lengths,
		    void **outputs, void *work, size_t bytes, size_t *need);

struct model {
	PyObject_HEAD void *library;
	lengths_fn *lengths;
	call_fn *call;
	message_fn *message;
	const char *interface;
	struct array *in, *out;
	Py_ssize_t nin, nout, axes_in, axes_out;
	Py_buffer weights; /* buf is NULL if there are none, or the library has them itself */
	unsigned long long weights_bytes;
	PyObject *empty, *no_axes;
};

static PyObject *CheckError,
	*LengthError; /* (words), (number of the input, axis, length, expected) */

/* --- the workspace of a thread --- */

struct work {
	size_t bytes;
	void *memory;
};
static pthread_key_t work_key;

static void free_work(void *p)
{
	struct work *w = p;

	free(w->memory);
	free(w);
}

static struct work *work_of_thread(void)
{
	struct work *w = pthread_getspecific(work_key);

	if (!w && (w = calloc(1, sizeof(*w))) && pthread_setspecific(work_key, w)) {
		free(w);
		w = NULL;
	}
	return w;
}

/* A run that finds its room too small begins anew. Pages that it does not touch cost nothing, so a
 * workspace that is not small has room for what only the run knows. */
static int grow(struct work *w, size_t need)
{
	const size_t small = (size_t)1 << 16, ample = (size_t)1 << 26;

	free(w->memory);
	if (need > small && need < ample)
		need = ample;
	w->memory = malloc(need);
	w->bytes = w->memory ? need : 0;
	return w->memory != NULL;
}

/* --- what a call needs: one block --- */

struct call {
	Py_buffer *views; /* of inputs; obj is NULL where there is none */
	const void **inputs;
	void **outputs, **copies;
	int64_t *given, *lengths;
	double *numbers; /* 8 bytes for each input that is a number */
};

static size_t lay(const struct model *m, char *at, struct call *c)
{
	char *start = at;
	size_t nin = (size_t)m->nin, nout = (size_t)m->nout;

	c->views = (Py_buffer *)at, at += nin * sizeof(Py_buffer);
	c->inputs = (const void **)at, at += (nin + 1) * sizeof(void *); /* and the weights */
	c->copies = (void **)at, at += nin * sizeof(void *);
	c->outputs = (void **)at, at += nout * sizeof(void *);
	c->given = (int64_t *)at, at += (size_t)m->axes_in * sizeof(int64_t);
	c->lengths = (int64_t *)at, at += ((size_t)m->axes_out + 1) * sizeof(int64_t);
	c->numbers = (double *)at, at += nin * sizeof(double);
	return (size_t)(at - start);
}

/* --- inputs --- */

static int is_of_kind(const Py_buffer *view, const struct kind *k)
{
	static const char signed_letters[] = "bhilqn", unsigned_letters[] = "BHILQN",
			  floats[] = "efd";
	const char *f = view->format ? view->format : "B";
	const union {
		uint16_t word;
		char first;
	} order = {1};
	char family;

	if (*f == '@' || *f == '=' || *f == '^' || *f == (order.first ? '<' : '>'))
		f++;
	if (!*f || f[1])
		return 0;
	family = *f == '?'                      ? '?'
		 : strchr(signed_letters, *f)   ? 'i'
		 : strchr(unsigned_letters, *f) ? 'u'
		 : strchr(floats, *f)           ? 'f'
						: 0;
	return family == k->family && (size_t)view->itemsize == k->size;
}

static void wrong_kind(const struct array *a, PyObject *given)
{
	PyObject *dtype = PyObject_GetAttrString(given, "dtype");

	if (dtype) {
		PyErr_Format(PyExc_TypeError, "input '%s' has the dtype %S, expected %s", a->name,
			     dtype, a->kind->dtype);
	} else {
		PyObject *type = PyType_GetName(Py_TYPE(given));
		PyErr_Format(PyExc_TypeError, "input '%s' must be an array of %s, not %S", a->name,
			     a->kind->dtype, type);
		Py_XDECREF(type);
	}
	Py_XDECREF(dtype);
}

static int beyond(const struct array *a, PyObject *given)
{
	PyErr_Clear();
	PyErr_Format(PyExc_OverflowError, "input '%s': %S is beyond %s", a->name, given,
		     a->kind->dtype);
	return -1;
}

/* Is the integer this number? Python compares the two without rounding. */
static int is_number(PyObject *integer, double v)
{
	PyObject *number = PyFloat_FromDouble(v);
	int equal = number ? PyObject_RichCompareBool(integer, number, Py_EQ) : -1;

	Py_XDECREF(number);
	return equal;
}

/* A Python float is rounded to float32, as NumPy rounds it; an integer must be exact */
static int put_float(const struct array *a, PyObject *given, void *to)
{
	double v = PyFloat_AsDouble(given);
	int exact = 1;

	if (v == -1 && PyErr_Occurred())
		return PyErr_ExceptionMatches(PyExc_OverflowError) ? beyond(a, given) : -1;
	if (a->kind->size == 8) {
		*(double *)to = v;
	} else {
		*(float *)to = (float)v;
		if (isinf(*(float *)to) && !isinf(v))
			return beyond(a, given);
		v = *(float *)to;
	}
	if (PyLong_Check(given) && (exact = is_number(given, v)) == 0)
		PyErr_Format(PyExc_TypeError, "input '%s' is %s, which cannot hold %S exactly",
			     a->name, a->kind->dtype, given);
	return exact > 0 ? 1 : -1;
}

static int put_integer(const struct array *a, PyObject *given, void *to)
{
	const struct kind *k = a->kind;
	uint64_t bits;

	if (k->family == 'u') {
		bits = PyLong_AsUnsignedLongLong(given);
		if (PyErr_Occurred() || (k->size < 8 && bits >> (8 * k->size)))
			return beyond(a, given);
	} else {
		int64_t v = PyLong_AsLongLong(given);
		int64_t most = k->size < 8 ? ((int64_t)1 << (8 * k->size - 1)) - 1 : INT64_MAX;
		if (PyErr_Occurred() || v > most || v < -most - 1)
			return beyond(a, given);
		bits = (uint64_t)v;
	}
	switch (k->size) {
	case 1:
		*(uint8_t *)to = (uint8_t)bits;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)bits;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)bits;
		break;
	default:
		*(uint64_t *)to = bits;
	}
	return 1;
}

/* A Python number for a scalar: 1; 0: it is something else; -1: an error */
static int put_number(const struct array *a, PyObject *given, void *to)
{
	const struct kind *k = a->kind;

	if (a->rank)
		return 0;
	if (PyFloat_Check(given) || (k->family == 'f' && PyLong_Check(given)))
		return k->family != 'f' || k->size < 4 ? 0 : put_float(a, given, to);
	if (PyBool_Check(given) && k->family == '?') {
		*(uint8_t *)to = given == Py_True;
		return 1;
	}
	if (PyLong_Check(given) && !PyBool_Check(given) && (k->family == 'i' || k->family == 'u'))
		return put_integer(a, given, to);
	return 0;
}

static int take_input(const struct array *a, PyObject *given, struct call *c, Py_ssize_t i,
		      int64_t *lengths)
{
	Py_buffer *view = &c->views[i];
	int number;

	/* NumPy's float64 is a Python float, of which float32 would be another number */
	if (!a->rank && a->kind->size == 4 && PyFloat_Check(given) && !PyFloat_CheckExact(given))
		return wrong_kind(a, given), 0;
	if ((number = put_number(a, given, &c->numbers[i])) < 0)
		return 0;
	if (number) {
		c->inputs[i] = &c->numbers[i];
		return 1;
	}
	if (!PyObject_CheckBuffer(given))
		return wrong_kind(a, given), 0;
	if (PyObject_GetBuffer(given, view, PyBUF_FORMAT | PyBUF_STRIDES)) {
		if (!PyErr_ExceptionMatches(PyExc_MemoryError)) /* NumPy's dates have no buffer */
			PyErr_Clear(), wrong_kind(a, given);
		return 0;
	}
	if (!is_of_kind(view, a->kind))
		return wrong_kind(a, given), 0;
	if (view->ndim != a->rank) {
		PyErr_Format(PyExc_TypeError, "input '%s' has the rank %d, expected %d", a->name,
			     view->ndim, a->rank);
		return 0;
	}
	for (int k = 0; k < view->ndim; k++)
		lengths[k] = view->shape[k];
	c->inputs[i] = view->buf;
	if (PyBuffer_IsContiguous(view, 'C') && (uintptr_t)view->buf % a->kind->size == 0)
		return 1;
	if (!(c->copies[i] = malloc(view->len ? (size_t)view->len : 1)))
		return PyErr_NoMemory(), 0;
	c->inputs[i] = c->copies[i];
	return !PyBuffer_ToContiguous(c->copies[i], view, view->len, 'C');
}

static int take_inputs(const struct model *m, PyObject *const *args, struct call *c)
{
	int64_t *lengths = c->given;

	for (Py_ssize_t i = 0; i < m->nin; lengths += m->in[i++].rank)
		if (!take_input(&m->in[i], args[i], c, i, lengths))
			return 0;
	return 1;
}

/* --- outputs --- */

static PyObject *new_array(const struct model *m, const struct array *a, const int64_t *lengths)
{
	PyObject *shape, *result, *length;

	if (a->rank) {
		shape = PyTuple_New(a->rank);
		for (int k = 0; shape && k < a->rank; k++) {
			length = PyLong_FromLongLong(lengths[k] < 0 ? 0 : lengths[k]);
			if (!length || PyTuple_SetItem(shape, k, length))
				Py_CLEAR(shape);
		}
		if (!shape)
			return NULL;
	} else {
		shape = m->no_axes;
		Py_INCREF(shape);
	}
	PyObject *args[] = {NULL, shape, a->dtype};
	result = PyObject_Vectorcall(m->empty, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
	Py_DECREF(shape);
	return result;
}

static int memory_of(PyObject *array, void **at, size_t *bytes)
{
	Py_buffer view;

	if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_ND))
		return 0;
	*at = view.buf;
	*bytes = (size_t)view.len;
	PyBuffer_Release(&view); /* the array keeps its memory */
	return 1;
}

static int is_open(const struct array *a, const int64_t *lengths)
{
	return a->rank && lengths[0] == INT64_MIN;
}

/* Arrays for the outputs; of those that lie in the workspace, none yet */
static int make_outputs(const struct model *m, struct call *c, PyObject *results)
{
	const int64_t *lengths = c->lengths;
	size_t bytes;

	for (Py_ssize_t i = 0; i < m->nout; lengths += m->out[i++].rank) {
		PyObject *array = Py_None;
		if (is_open(&m->out[i], lengths))
			Py_INCREF(array);
		else if (!(array = new_array(m, &m->out[i], lengths)) ||
			 !memory_of(array, &c->outputs[i], &bytes))
			return Py_XDECREF(array), 0;
		if (PyList_SetItem(results, i, array))
			return 0;
	}
	return 1;
}

static int copy_outputs(const struct model *m, const struct call *c, PyObject *results)
{
	const int64_t *lengths = c->lengths;

	for (Py_ssize_t i = 0; i < m->nout; lengths += m->out[i++].rank) {
		void *to;
		size_t bytes;
		PyObject *array;
		if (PyList_GetItem(results, i) != Py_None)
			continue;
		if (!(array = new_array(m, &m->out[i], lengths)) || !memory_of(array, &to, &bytes))
			return Py_XDECREF(array), 0;
		if (bytes)
			memcpy(to, c->outputs[i], bytes);
		if (PyList_SetItem(results, i, array))
			return 0;
	}
	return 1;
}

/* --- a call --- */

static int wrong_length(const struct model *m, const struct call *c, int which)
{
	Py_ssize_t i = 0;
	int axis = which - 1;
	PyObject *what;

	while (axis >= m->in[i].rank)
		axis -= m->in[i++].rank;
	what = Py_BuildValue("niLL", i, axis, (long long)c->given[which - 1],
			     (long long)c->lengths[0]);
	if (what)
		PyErr_SetObject(LengthError, what);
	Py_XDECREF(what);
	return 0;
}

static int run(const struct model *m, struct call *c)
{
	int status = -1;
	size_t need = 0;
	struct work *w;

	Py_BEGIN_ALLOW_THREADS w = work_of_thread();
	while (w && (status = m->call(c->given, c->inputs, c->lengths, c->outputs, w->memory,
				      w->bytes, &need)) == -1)
		if (!grow(w, need))
			w = NULL;
	Py_END_ALLOW_THREADS if (!w) PyErr_NoMemory();
	else if (status) PyErr_SetString(CheckError, m->message(status));
	return w && !status;
}

static PyObject *model_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	const struct model *m = (struct model *)self;
	char small[1024], *block = small;
	PyObject *results = NULL;
	struct call c;
	size_t bytes;
	int which;

	if (nargs != m->nin)
		return PyErr_Format(PyExc_TypeError, "the model has %zd inputs but %zd are given",
				    m->nin, nargs);
	bytes = lay(m, small, &c);
	if (bytes > sizeof(small) && !(block = malloc(bytes)))
		return PyErr_NoMemory();
	lay(m, block, &c);
	memset(block, 0, bytes);
	c.inputs[m->nin] = m->weights.buf;
	if (take_inputs(m, args, &c) &&
	    (!(which = m->lengths(c.given, c.lengths)) || wrong_length(m, &c, which)) &&
	    (results = PyList_New(m->nout)) != NULL &&
	    (!make_outputs(m, &c, results) || !run(m, &c) || !copy_outputs(m, &c, results)))
		Py_CLEAR(results);
	for (Py_ssize_t i = 0; i < m->nin; i++) {
		if (c.views[i].obj)
			PyBuffer_Release(&c.views[i]);
		free(c.copies[i]);
	}
	if (block != small)
		free(block);
	return results;
}

/* --- a model --- */

static const struct kind *kind_of(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].dtype) == len && !memcmp(kinds[i].dtype, name, len))
			return &kinds[i];
	return NULL;
}

/* A line of the interface: "in float64 2 x", "weights 4096". Of "generator:r=PCG64" Python knows
 * what it means. */
static int read_line(struct model *m, const char *s, const char *end, PyObject *dtypes)
{
	int is_in = !strncmp(s, "in ", 3);
	const char *dtype, *space;
	struct array *a = is_in ? &m->in[m->nin] : &m->out[m->nout];
	char *name;

	if (!strncmp(s, "generator:", 10))
		return 1;
	if (!strncmp(s, "weights ", 8)) {
		m->weights_bytes = strtoull(s + 8, NULL, 10);
		return 1;
	}
	dtype = strchr(s, ' ') + 1;
	space = strchr(dtype, ' ');
	a->kind = kind_of(dtype, (size_t)(space - dtype));
	a->rank = (int)strtol(space, &name, 10);
	if (!a->kind || a->rank > MAX_RANK)
		return PyErr_SetString(PyExc_ImportError, "an interface of another release"), 0;
	name++;
	if (!(a->name = calloc((size_t)(end - name) + 1, 1)))
		return PyErr_NoMemory(), 0;
	memcpy(a->name, name, (size_t)(end - name));
	if (is_in) {
		m->nin++;
		m->axes_in += a->rank;
		return 1;
	}
	m->nout++;
	m->axes_out += a->rank;
	a->dtype = PyMapping_GetItemString(dtypes, a->kind->dtype);
	return a->dtype != NULL;
}

static int read_interface(struct model *m, const char *text, PyObject *dtypes)
{
	size_t lines = 0;

	for (const char *s = text; (s = strchr(s, '\n')); s++)
		lines++;
	m->in = calloc(lines + 1, sizeof(*m->in));
	m->out = calloc(lines + 1, sizeof(*m->out));
	if (!m->in || !m->out)
		return PyErr_NoMemory(), 0;
	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		if (!read_line(m, text, end, dtypes))
			return 0;
	}
	return 1;
}

static void *symbol(const struct model *m, const char *name, const char *what)
{
	char all[512];
	void *found = NULL;

	if (PyOS_snprintf(all, sizeof(all), "%s_%s", name, what) < (int)sizeof(all))
		found = dlsym(m->library, all);
	if (!found)
		PyErr_Format(PyExc_ImportError, "the library has no %s_%s()", name, what);
	return found;
}

static int load(struct model *m, const char *path, const char *name, PyObject *dtypes)
{
	union { /* C has no cast from data to functions */
		void *data;
		interface_fn *interface;
		lengths_fn *lengths;
		call_fn *call;
		message_fn *message;
	} f;

	if (!(m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		return PyErr_SetString(PyExc_ImportError, dlerror()), 0;
	if (!(f.data = symbol(m, name, "call")))
		return 0;
	m->call = f.call;
	if (!(f.data = symbol(m, name, "lengths")))
		return 0;
	m->lengths = f.lengths;
	if (!(f.data = symbol(m, name, "message")))
		return 0;
	m->message = f.message;
	if (!(f.data = symbol(m, name, "interface")))
		return 0;
	m->interface = f.interface();
	return read_interface(m, m->interface, dtypes);
}

/* The weights must have the length that the library knows, and be aligned as it asks. */
static int take_weights(struct model *m, PyObject *weights)
{
	if (weights == Py_None)
		return 1;
	if (PyObject_GetBuffer(weights, &m->weights, PyBUF_SIMPLE))
		return 0;
	if ((unsigned long long)m->weights.len == m->weights_bytes &&
	    (uintptr_t)m->weights.buf % sizeof(double) == 0)
		return 1;
	PyErr_Format(PyExc_ImportError, "the weights are %zd bytes at %p, not %llu", m->weights.len,
		     m->weights.buf, m->weights_bytes);
	return 0;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	PyObject *path, *empty, *dtypes, *weights = Py_None, *bytes = NULL;
	const char *name;
	struct model *m;

	(void)named;
	if (!PyArg_ParseTuple(args, "OsOO|O", &path, &name, &empty, &dtypes, &weights) ||
	    !PyUnicode_FSConverter(path, &bytes))
		return NULL;
	m = (struct model *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (m) {
		Py_INCREF(empty);
		m->empty = empty;
		m->no_axes = PyTuple_New(0);
		if (!m->no_axes || !load(m, PyBytes_AsString(bytes), name, dtypes) ||
		    !take_weights(m, weights))
			Py_CLEAR(m);
	}
	Py_DECREF(bytes);
	return (PyObject *)m;
}

static void model_free(PyObject *self)
{
	struct model *m = (struct model *)self;
	PyTypeObject *type = Py_TYPE(self);

	for (Py_ssize_t i = 0; i < m->nin; i++)
		free(m->in[i].name);
	for (Py_ssize_t i = 0; m->out && m->out[i].name; i++) {
		free(m->out[i].name);
		Py_XDECREF(m->out[i].dtype);
	}
	free(m->in);
	free(m->out);
	Py_XDECREF(m->empty);
	Py_XDECREF(m->no_axes);
	if (m->weights.obj)
		PyBuffer_Release(&m->weights);
	if (m->library)
		dlclose(m->library);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyObject *names(const struct array *of, Py_ssize_t n)
{
	PyObject *list = PyList_New(n), *name;

	for (Py_ssize_t i = 0; list && i < n; i++)
		if (!(name = PyUnicode_FromString(of[i].name)) || PyList_SetItem(list, i, name))
			Py_CLEAR(list);
	return list;
}

static PyObject *get_inputs(PyObject *self, void *unused)
{
	(void)unused;
	return names(((struct model *)self)->in, ((struct model *)self)->nin);
}

static PyObject *get_outputs(PyObject *self, void *unused)
{
	(void)unused;
	return names(((struct model *)self)->out, ((struct model *)self)->nout);
}

static PyObject *get_interface(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((struct model *)self)->interface);
}

static PyMethodDef methods[] = {
	{"run", (PyCFunction)(void (*)(void))model_run, METH_FASTCALL,
	 "run(*arrays) -> list of arrays, in the order of inputs and outputs"},
	{0},
};
static PyGetSetDef members[] = {
	{"inputs", get_inputs, NULL, "names", NULL},
	{"outputs", get_outputs, NULL, "names", NULL},
	{"interface", get_interface, NULL, "as entry.c of libptgc writes it", NULL},
	{0},
};
static PyType_Slot slots[] = {
	{Py_tp_doc, (void *)(uintptr_t) "Model(path, name, numpy.empty, {name: dtype}, "
					"weights=None): a graph in a "
					"library"},
	{Py_tp_new, model_new},
	{Py_tp_dealloc, model_free},
	{Py_tp_methods, methods},
	{Py_tp_getset, members},
	{0},
};
static PyType_Spec spec = {
	.name = "ptgc._native.Model",
	.basicsize = sizeof(struct model),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static int add(PyObject *module, const char *name, PyObject *what)
{
	int failed = !what || PyModule_AddObjectRef(module, name, what);

	Py_XDECREF(what);
	return failed;
}

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
	static struct PyModuleDef definition = {
		PyModuleDef_HEAD_INIT,
		"ptgc._native",
		"Calls models that are C.",
		-1,
		NULL,
		NULL,
		NULL,
		NULL,
		NULL,
	};
	PyObject *module = PyModule_Create(&definition);

	if (!module || pthread_key_create(&work_key, free_work))
		return module ? PyErr_NoMemory() : NULL;
	CheckError = PyErr_NewException("ptgc._native.CheckError", PyExc_ValueError, NULL);
	LengthError = PyErr_NewException("ptgc._native.LengthError", PyExc_ValueError, NULL);
	Py_XINCREF(CheckError); /* this file's own */
	Py_XINCREF(LengthError);
	if (add(module, "CheckError", CheckError) || add(module, "LengthError", LengthError) ||
	    add(module, "Model", PyType_FromSpec(&spec)))
		Py_CLEAR(module);
	return module;
}
