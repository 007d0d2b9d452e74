/*
 * write.c: sinks for bytes: a file that is written completely or not at all, an open descriptor,
 * memory. In: bytes in order. Out: the same bytes, or the first errno in sink.error.
 * A full device or a reader that is gone shows at a write or at the close, never later. (The
 * command ignores SIGPIPE, so that EPIPE arrives here.)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/emit.h"

#define MAX_TRIES 1000
#define PIECE     ((size_t)1 << 24) /* written at once; a signal waits for the end of it */

static bool set_error(struct sink *s, int error)
{
	if (!s->error)
		s->error = error ? error : EIO;
	return false;
}

static bool open_sink(struct file_sink *f, const char *path, bool sweep);

static bool ready(struct file_sink *f)
{
	if (f->later) {
		char path[sizeof(f->path)];
		memcpy(path, f->path, sizeof(path));
		open_sink(f, path, false);
	}
	return !f->sink.error;
}

static bool file_write(struct sink *s, const void *data, size_t len)
{
	struct file_sink *f = (struct file_sink *)s;
	const uint8_t *p = data;
	if (!ready(f))
		return false;
	while (len) {
		ssize_t n = write(f->fd, p, len < PIECE ? len : PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return set_error(s, n ? errno : ENOSPC);
		p += n;
		len -= (size_t)n;
		s->written += (uint64_t)n;
	}
	return true;
}

/* If a copy fails, its errno is ignored: the write of the rest fails again. */
static size_t file_copy(struct sink *s, int fd, uint64_t offset, size_t len)
{
	struct file_sink *f = (struct file_sink *)s;
	off_t at = (off_t)offset;
	size_t left = ready(f) ? len : 0;
	while (left) {
		ssize_t n = copy_file_range(fd, &at, f->fd, NULL, left < PIECE ? left : PIECE, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		left -= (size_t)n;
		s->written += (uint64_t)n;
	}
	return s->error ? 0 : len - left;
}

void file_sink_init(struct file_sink *f)
{
	memset(&f->sink, 0, sizeof(f->sink));
	f->sink.write = file_write;
	f->sink.copy = file_copy;
	f->fd = f->lock = f->old_lock = -1;
	f->direct = true;
	f->later = f->moved = f->same = false;
	f->temporary = 0;
	f->path[0] = f->temp[0] = f->old[0] = 0;
}

void file_sink_later(struct file_sink *f, const char *path)
{
	size_t len = strlen(path);
	file_sink_init(f);
	f->later = len < sizeof(f->path);
	if (f->later)
		memcpy(f->path, path, len + 1);
	else
		set_error(&f->sink, ENAMETOOLONG);
}

void file_sink_same(struct file_sink *f, const char *path)
{
	size_t len = strlen(path);
	f->same = len < sizeof(f->path);
	if (f->same)
		memcpy(f->path, path, len + 1);
	else
		set_error(&f->sink, ENAMETOOLONG);
}

void file_sink_fd(struct file_sink *f, int fd)
{
	file_sink_init(f);
	f->fd = dup(fd);
	if (f->fd < 0)
		set_error(&f->sink, errno);
}

/* The descriptor that "/dev/stdout" or "/dev/fd/3" names, be it a regular file; -1: none. */
static int descriptor_named(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < countof(folders); i++) {
		size_t n = strlen(folders[i]);
		char *end;
		long fd;
		if (strncmp(path, folders[i], n) || path[n] < '0' || path[n] > '9')
			continue;
		errno = 0;
		fd = strtol(path + n, &end, 10);
		if (!*end && !errno && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* A free name in the folder of the target. */
static bool temp_name(const struct file_sink *f, char *name, unsigned i)
{
	const char *slash = strrchr(f->path, '/');
	int dir = slash ? (int)(slash - f->path) + 1 : 0;
	int n = snprintf(name, sizeof(f->temp), "%.*s.ptgc-%ld-%u.tmp", dir, f->path,
			 (long)getpid(), i);
	return n >= 0 && (size_t)n < sizeof(f->temp);
}

/* Locks a new file. false: the sweep of another process was faster, and removes it. A file system
 * without locks has no sweeps either. */
static bool lock_temp(int fd)
{
	struct stat st;
	bool locked = !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
	return locked && !fstat(fd, &st) && st.st_nlink;
}

static void remove_temp(struct file_sink *f)
{
	if (f->temporary)
		unlink(f->temp);
	f->temporary = 0;
}

/* O_EXCL: no other process has the file; the umask counts as for any file. */
static bool open_temp(struct file_sink *f)
{
	char name[sizeof(f->temp)];
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		if (!temp_name(f, name, i)) {
			errno = ENAMETOOLONG;
			break;
		}
		f->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (f->fd < 0 && errno == EEXIST)
			continue;
		if (f->fd < 0)
			break;
		memcpy(f->temp, name, sizeof(name));
		f->temporary = 1;
		if (lock_temp(f->fd))
			return true;
		remove_temp(f);
		close(f->fd);
		f->fd = -1;
	}
	return set_error(&f->sink, errno);
}

static bool open_sink(struct file_sink *f, const char *path, bool sweep)
{
	struct stat st;
	size_t len = strlen(path);
	int fd = descriptor_named(path);
	file_sink_init(f);
	if (fd >= 0) {
		file_sink_fd(f, fd);
		return !f->sink.error;
	}
	if (len >= sizeof(f->path))
		return set_error(&f->sink, ENAMETOOLONG);
	memcpy(f->path, path, len + 1);
	bool exists = !stat(path, &st);
	if (exists && S_ISDIR(st.st_mode))
		return set_error(&f->sink, EISDIR);
	if (exists && !S_ISREG(st.st_mode)) {
		f->fd = open(path, O_WRONLY | O_CLOEXEC);
		return f->fd >= 0 || set_error(&f->sink, errno);
	}
	if (exists) { /* a link stays a link: what it points to is replaced */
		char *real = realpath(path, NULL);
		if (real && strlen(real) < sizeof(f->path))
			memcpy(f->path, real, strlen(real) + 1);
		free(real);
	}
	f->direct = false;
	if (sweep)
		sweep_temps(f->path);
	if (!open_temp(f))
		return false;
	if (exists) /* not being the owner is no reason to stop */
		(void)!fchmod(f->fd, st.st_mode & 0777);
	return true;
}

bool file_sink_open(struct file_sink *f, const char *path)
{
	return open_sink(f, path, true);
}

static bool close_sink(struct file_sink *f)
{
	f->lock = f->temporary ? fcntl(f->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (f->fd >= 0 && close(f->fd) && errno != EINTR)
		set_error(&f->sink, errno);
	f->fd = -1;
	return !f->sink.error;
}

/* Gives the file that will be replaced a second name, if there is a file. */
static bool keep_old(struct file_sink *f)
{
	f->old_lock = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (f->old_lock >= 0)
		(void)!flock(f->old_lock, LOCK_SH | LOCK_NB);
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		if (!temp_name(f, f->old, i)) {
			errno = ENAMETOOLONG;
			break;
		}
		if (!link(f->path, f->old))
			return true;
		if (errno == EEXIST)
			continue;
		bool none = errno == ENOENT;
		/* a file system without links: the old file is moved away */
		if (!none && !access(f->old, F_OK))
			continue;
		if (!none && !rename(f->path, f->old))
			return true;
		f->old[0] = 0;
		return none || set_error(&f->sink, errno);
	}
	f->old[0] = 0;
	return set_error(&f->sink, errno);
}

static bool move_in(struct file_sink *f, bool keep)
{
	if (f->direct || f->later)
		return true;
	bool there = f->same && !access(f->path, F_OK);
	if (keep && !f->same && !keep_old(f))
		return false;
	if (rename(f->temp, f->path))
		return set_error(&f->sink, errno);
	f->temporary = 0;
	f->moved = !there;
	return true;
}

static void drop_locks(struct file_sink *f)
{
	if (f->lock >= 0)
		close(f->lock);
	if (f->old_lock >= 0)
		close(f->old_lock);
	f->lock = f->old_lock = -1;
}

bool file_sinks_commit(struct file_sink *const *f, size_t n)
{
	bool ok = true;
	for (size_t i = 0; i < n; i++)
		ok &= close_sink(f[i]);
	for (size_t i = 0; i < n && ok; i++)
		ok = move_in(f[i], i + 1 < n);
	for (size_t i = 0; i < n; i++) {
		if (!ok)
			file_sink_abort(f[i]);
		else if (f[i]->old[0])
			unlink(f[i]->old);
		f[i]->old[0] = 0;
	}
	for (size_t i = 0; i < n; i++)
		drop_locks(f[i]);
	return ok;
}

bool file_sink_commit(struct file_sink *f)
{
	return file_sinks_commit(&f, 1);
}

void file_sink_abandon(struct file_sink *f)
{
	remove_temp(f);
}

void file_sink_abort(struct file_sink *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	remove_temp(f);
	if (f->old[0] && !f->moved && !access(f->path, F_OK))
		unlink(f->old); /* a second name, not needed */
	else if (f->old[0])
		(void)!rename(f->old, f->path);
	else if (f->moved)
		unlink(f->path);
	f->moved = false;
	f->old[0] = 0;
	drop_locks(f);
}

bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;
	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino &&
	       S_ISREG(sa.st_mode);
}

bool same_place(const char *a, const char *b)
{
	char x[8192], y[8192];
	const char *p = base_name(a), *q = base_name(b);
	struct stat sa, sb;
	if (strcmp(p, q))
		return same_file(a, b);
	snprintf(x, sizeof(x), "%.*s.", (int)(p - a), a);
	snprintf(y, sizeof(y), "%.*s.", (int)(q - b), b);
	return !strcmp(a, b) ||
	       (!stat(x, &sa) && !stat(y, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}

static void mem_expect(struct sink *s, uint64_t size)
{
	struct mem_sink *m = (struct mem_sink *)s;
	if (size > m->cap) {
		m->data = arena_grow(m->arena, m->data, m->cap, size);
		m->cap = size;
	}
}

static bool mem_write(struct sink *s, const void *data, size_t len)
{
	struct mem_sink *m = (struct mem_sink *)s;
	if (s->error)
		return false;
	if (len > m->cap - s->written) {
		uint64_t need = s->written + len;
		mem_expect(s, need > 2 * m->cap ? need : 2 * m->cap);
	}
	if (len)
		memcpy(m->data + s->written, data, len);
	s->written += len;
	return true;
}

void mem_sink_init(struct mem_sink *m, struct arena *a)
{
	memset(m, 0, sizeof(*m));
	m->sink.write = mem_write;
	m->sink.expect = mem_expect;
	m->arena = a;
}
