/*
 * files.c: the data that file("...") names: the caller's tensors first, then files.
 * In: a path as written, and the text that it stands in. Out: a tensor that points into the mapped
 * file, or NULL and a message.
 * Holds: nothing outside of the main text's folder and the allowed folders is ever opened, whatever
 * the path or the links on it say; nothing but regular files is read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/data.h"

#define SMALL                                                                                      \
	((size_t)16 << 10)       /* read, not mapped: a system maps some ten thousand files only   \
				  */
#define COPIED ((size_t)1 << 20) /* larger files may be copied to the output by the system */

/* The caller's table */

static bool table_shape(const struct ptgc_tensor *t, uint64_t *count)
{
	*count = 1;
	if (t->rank < 0 || t->rank > MAX_RANK || (t->rank && !t->shape))
		return false;
	for (int i = 0; i < t->rank; i++)
		if (t->shape[i] < 0 || __builtin_mul_overflow(*count, (uint64_t)t->shape[i], count))
			return false;
	return *count <= INT64_MAX / 16;
}

static struct tensor *table_tensor(struct ctx *cx, struct span s, const struct ptgc_tensor *t)
{
	enum dtype dt = t->dtype ? dtype_named(t->dtype) : DT_NONE;
	uint64_t count;
	if (dt == DT_NONE || dt == DT_STRING) {
		error(cx, s, E_TABLE, "tensor \"%s\" of the caller has the unknown dtype %s",
		      t->name, t->dtype ? t->dtype : "NULL");
		return NULL;
	}
	if (!table_shape(t, &count) || (count && !t->data)) {
		error(cx, s, E_TABLE,
		      "tensor \"%s\" of the caller has an impossible shape or no data", t->name);
		return NULL;
	}
	struct tensor *r = tensor_new(cx, dt, t->rank, t->shape);
	r->data = t->data;
	if (!tensor_valid(r)) {
		error(cx, s, E_TABLE,
		      "tensor \"%s\" of the caller has bools that are neither 0 nor 1", t->name);
		return NULL;
	}
	r->name = t->name;
	return r;
}

static const struct ptgc_tensor *find_in_table(struct ctx *cx, const char *name)
{
	for (size_t i = 0; i < cx->ntensors; i++)
		if (cx->tensors[i].name && !strcmp(cx->tensors[i].name, name))
			return &cx->tensors[i];
	return NULL;
}

/* The caller's tensor named "path", or "path:name" for a named tensor of a file. */
static const struct ptgc_tensor *in_table(struct ctx *cx, const char *path, const char *name)
{
	if (!cx->ntensors)
		return NULL;
	return find_in_table(cx, name ? arena_printf(cx->arena, "%s:%s", path, name) : path);
}

/* Files */

const char *file_name(struct ctx *cx, const struct astr *s, struct span at)
{
	if (s->len >= PATH_MAX) {
		error(cx, at, E_FILE, "this name has %u bytes: at most %d are possible", s->len,
		      PATH_MAX - 1);
		return NULL;
	}
	if (memchr(s->s, 0, s->len)) {
		error(cx, at, E_FILE,
		      "this name has a 0 byte, which no name of a file or tensor can have");
		return NULL;
	}
	return arena_strdup(cx->arena, s->s, s->len);
}

static char *real_path(struct ctx *cx, const char *dir, const char *path)
{
	char real[PATH_MAX];
	const char *joined = *dir ? dir : ".";
	if (path)
		joined = arena_printf(cx->arena, "%s/%s", joined, path);
	return realpath(joined, real) ? arena_strdup(cx->arena, real, strlen(real)) : NULL;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	if (n == 1) /* "/" */
		return true;
	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

/* Is the path below the folder of the text that names it, of the main text, or an allowed one? */
static bool allowed(struct ctx *cx, const struct source *from, const char *real)
{
	const char *dir = real_path(cx, from->dir, NULL);
	if (dir && is_below(real, dir))
		return true;
	if ((dir = real_path(cx, cx->sources.at[0]->dir, NULL)) && is_below(real, dir))
		return true;
	for (const char *const *d = cx->opt.allow_dirs; d && *d; d++)
		if ((dir = real_path(cx, *d, NULL)) && is_below(real, dir))
			return true;
	return false;
}

/* Does the path leave its folder by `..`? If not, a link did. */
static bool climbs(const char *path)
{
	int depth = 0;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		if (n == 2 && !memcmp(p, "..", 2)) {
			if (--depth < 0)
				return true;
		} else if (n && !(n == 1 && *p == '.')) {
			depth++;
		}
		p += n;
		p += *p == '/';
	}
	return false;
}

#define MAX_NEAR 16 /* files of similar names that are compared */

/* The name of a file in the folder of a path, which names none, that is spelled like it; NULL:
 * there is none. Asks the arena for nothing while the folder is open, see take(). */
static const char *near_file(struct ctx *cx, struct source *from, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *folder = arena_strdup(cx->arena, path, (size_t)(name - path));
	const char *dir = real_path(cx, from->dir, *folder ? folder : NULL);
	char found[MAX_NEAR][NAME_MAX + 1];
	const char *names[MAX_NEAR];
	size_t n = 0;
	DIR *d = dir && allowed(cx, from, dir) ? opendir(dir) : NULL;

	for (struct dirent *f; d && n < MAX_NEAR && (f = readdir(d));) {
		const char *own = f->d_name;
		if (strlen(own) > NAME_MAX || !did_you_mean(name, &own, 1))
			continue;
		names[n] = strcpy(found[n], own);
		n++;
	}
	if (d)
		closedir(d);
	const char *near = did_you_mean(name, names, n);
	return near ? arena_printf(cx->arena, "%s%s", folder, near) : NULL;
}

static void report_missing(struct ctx *cx, struct source *from, struct span s, const char *path,
			   int failed)
{
	const char *near = failed == ENOENT ? near_file(cx, from, path) : NULL;
	struct diag *d =
		error(cx, s, E_FILE, "file \"%s\": %s%s%s%s", path, strerror(failed),
		      near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	if (failed == ENOENT)
		note(cx, d, (struct span){0, 0}, "ptgc looked for it in %s",
		     from->dir[0] ? from->dir : ".");
	if (failed == ENOENT && strchr(path, '{'))
		note(cx, d, (struct span){0, 0},
		     "braces in a string are characters; texts are joined by +: "
		     "\"layer\" + i + \".npy\"");
}

/* The real path of a file that may be read; NULL: reported. */
static char *find_file(struct ctx *cx, struct source *from, struct span s, const char *path)
{
	char *real;
	if (!*path) {
		error(cx, s, E_FILE, "file(\"\"): the path is empty");
		return NULL;
	}
	if (*path == '/') {
		error(cx, s, E_FILE_ABSOLUTE,
		      "file \"%s\": the path must be relative to the .ptg file", path);
		return NULL;
	}
	if (!from || !from->dir) {
		error(cx, s, E_FILE,
		      "file \"%s\": this text has no folder, so it can read no files", path);
		return NULL;
	}
	real = real_path(cx, from->dir, path);
	int failed = errno;
	for (const char *const *d = cx->opt.allow_dirs; !real && d && *d; d++)
		real = real_path(cx, *d, path);
	if (!real && climbs(path))
		failed = EACCES; /* do not tell what exists outside the folders */
	if (real && allowed(cx, from, real))
		return real;
	if (climbs(path))
		error(cx, s, E_FILE_OUTSIDE,
		      "file \"%s\": '..' leads out of the model's folder; --allow DIR adds a "
		      "folder",
		      path);
	else if (real)
		error(cx, s, E_FILE_LINK,
		      "file \"%s\": a symbolic link leads out of the model's folder", path);
	else
		report_missing(cx, from, s, path, failed);
	return NULL;
}

static bool read_all(int fd, uint8_t *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : EIO;
			return false;
		}
		to += n;
		size -= (size_t)n;
	}
	return true;
}

/* Reads a small file into buf, maps a larger one. Returns 0, an errno, or -1 for what is not a
 * regular file; then *mode says what it is. Asks the arena for no memory while the file is open, as
 * a longjmp would leave the file open; only a large file stays open. */
static int take(struct ctx *cx, const char *real, struct mapping *m, uint8_t *buf, mode_t *mode)
{
	struct stat st;
	int failed = 0;
	int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return errno;
	if (fstat(fd, &st)) {
		failed = errno;
	} else if (*mode = st.st_mode, !S_ISREG(st.st_mode)) {
		failed = -1;
	} else if ((size_t)st.st_size <= SMALL) {
		failed = read_all(fd, buf, (size_t)st.st_size) ? 0 : errno;
		m->len = (size_t)st.st_size;
	} else {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		failed = p == MAP_FAILED ? errno : 0;
		m->addr = p == MAP_FAILED ? NULL : p;
		m->len = (size_t)st.st_size;
	}
	if (m->addr && m->len >= COPIED && cx->may_stay_open) {
		cx->may_stay_open--;
		m->fd = fd;
	} else {
		close(fd);
	}
	return failed;
}

static void unmap_files(struct ctx *cx)
{
	for (uint32_t i = 0; i < cx->mappings.len; i++) {
		struct mapping *m = cx->mappings.at[i];
		if (m->addr)
			munmap(m->addr, m->len);
		if (m->fd >= 0)
			close(m->fd);
	}
	cx->mappings.len = 0;
}

/* The mapping is in cx->mappings before the file is opened, so it is unmapped in any case. */
static struct mapping *map_file(struct ctx *cx, struct span s, const char *path, const char *real)
{
	struct mapping *m = new (cx->arena, struct mapping);
	uint8_t buf[SMALL];
	mode_t mode = 0;
	m->path = intern_str(cx, real);
	m->fd = -1;
	cx->unmap_files = unmap_files;
	*vec_push(cx->arena, &cx->mappings) = m;
	*vec_push(cx->arena, &cx->depends) = m->path->s;
	int failed = take(cx, real, m, buf, &mode);
	if (failed < 0)
		error(cx, s, E_FILE, "file \"%s\" is %s, not a regular file", path,
		      S_ISDIR(mode) ? "a folder" : "a device, pipe or socket");
	else if (failed)
		error(cx, s, E_FILE, "file \"%s\": %s", path, strerror(failed));
	if (failed == ENOMEM)
		longjmp(cx->oom, 1);
	cx->io_failed |= failed == EIO || failed == EMFILE || failed == ENFILE;
	if (failed)
		return NULL;
	m->data = m->addr;
	if (!m->addr)
		m->data = (uint8_t *)arena_strdup(cx->arena, (char *)buf, m->len);
	return m;
}

static struct mapping *mapped(struct ctx *cx, const char *real)
{
	const struct sym *path = intern_str(cx, real);
	for (uint32_t i = cx->mappings.len; i-- > 0;)
		if (cx->mappings.at[i]->path == path && cx->mappings.at[i]->data)
			return cx->mappings.at[i];
	return NULL;
}

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);
	return n > k && !strcmp(path + n - k, end);
}

static struct tensor *read_tensor(struct ctx *cx, struct span s, const char *path,
				  struct mapping *m, const char *name)
{
	if (ends_in(path, ".safetensors"))
		return safetensors_tensor(cx, s, path, m, name);
	if (!name)
		return npy_tensor(cx, s, path, m);
	error(cx, s, E_FILE_TENSOR, "file \"%s\" holds one tensor without a name: leave out \"%s\"",
	      path, name);
	return NULL;
}

struct tensor *file_tensor(struct ctx *cx, struct source *from, struct span s, const char *path,
			   const char *name)
{
	const struct ptgc_tensor *given = in_table(cx, path, name);
	struct mapping *m;
	char *real;
	if (given)
		return table_tensor(cx, s, given);
	if (!ends_in(path, ".npy") && !ends_in(path, ".safetensors")) {
		error(cx, s, E_FILE, "file \"%s\": only .npy and .safetensors files are read%s",
		      path, cx->ntensors ? ", and no tensor of this name was passed" : "");
		return NULL;
	}
	real = find_file(cx, from, s, path);
	if (!real)
		return NULL;
	m = mapped(cx, real);
	if (!m)
		m = map_file(cx, s, path, real);
	return m ? read_tensor(cx, s, path, m, name) : NULL;
}

static bool is_main(struct ctx *cx, const char *real)
{
	char main[PATH_MAX];
	const char *path = cx->sources.at[0]->path;
	return path && realpath(path, main) && !strcmp(real, main);
}

struct source *file_source(struct ctx *cx, struct source *from, struct span s, const char *path)
{
	char *real = find_file(cx, from, s, path);
	if (!real)
		return NULL;
	if (is_main(cx, real))
		return cx->sources.at[0];
	struct mapping *m = mapped(cx, real);
	if (!m)
		m = map_file(cx, s, path, real);
	if (!m || m->text)
		return m ? m->source : NULL;
	m->text = true;
	const char *name = path;
	if (from->dir[0] && strcmp(from->dir, "."))
		name = arena_printf(cx->arena, "%s/%s", from->dir, path);
	const char *slash = strrchr(name, '/');
	const char *dir = slash ? arena_strdup(cx->arena, name, (size_t)(slash - name)) : "";
	return m->source = source_add(cx, name, dir, (const char *)m->data, m->len);
}
