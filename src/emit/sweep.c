/*
 * sweep.c: removes what earlier runs left in a folder: temporary files of processes that were
 * killed, weights of models that have been replaced. In: a path in the folder. Whoever writes a
 * file holds a lock of it (flock), which the system drops when the process is gone; a file with a
 * lock stays. Nothing here is an error: what cannot be removed now, a later run removes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/emit.h"

#define DIGITS "0123456789"
#define HEX    DIGITS "abcdef"

static DIR *folder_of(const char *path)
{
	char folder[4096];
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;
	if (len + 2 > sizeof(folder))
		return NULL;
	memcpy(folder, path, len);
	memcpy(folder + len, ".", 2);
	return opendir(folder);
}

/* With the lock in hand, no one else removes the file or gives its name to another one. */
static void remove_unlocked(int folder, const char *name)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct stat here, named;
	int fd = openat(folder, name, O_RDWR | flags); /* NFS locks what may be written */
	if (fd < 0)
		fd = openat(folder, name, O_RDONLY | flags);
	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &here) &&
	    !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) && S_ISREG(here.st_mode) &&
	    here.st_dev == named.st_dev && here.st_ino == named.st_ino)
		unlinkat(folder, name, 0);
	close(fd);
}

/* Is it ".ptgc-PID-N.tmp", as temp_name() makes them? */
static bool is_temp(const char *name)
{
	static const char begin[] = ".ptgc-";
	const char *p = name + sizeof(begin) - 1;
	if (strncmp(name, begin, sizeof(begin) - 1))
		return false;
	size_t pid = strspn(p, DIGITS), i = pid && p[pid] == '-' ? strspn(p + pid + 1, DIGITS) : 0;
	return i && !strcmp(p + pid + 1 + i, ".tmp");
}

void sweep_temps(const char *path)
{
	DIR *dir = folder_of(path);
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (is_temp(d->d_name))
			remove_unlocked(dirfd(dir), d->d_name);
	if (dir)
		closedir(dir);
}

/* Maps the content of a file, if there is one and it has content. */
static bool map_file(int fd, void **text, size_t *len)
{
	struct stat st;
	if (fd < 0)
		return true;
	if (fstat(fd, &st))
		return false;
	*len = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
	if (*len)
		*text = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	return *text != MAP_FAILED;
}

void sweep_weights(const char *model, const char *location, int old)
{
	const char *slash = strrchr(model, '/');
	const char *base = slash ? slash + 1 : model;
	size_t before = strlen(base) + 1, len = before + HASH_DIGITS + strlen(".data"), size = 0;
	void *text = NULL;
	DIR *dir = folder_of(model);
	bool looked = false;
	for (struct dirent *d; dir && (d = readdir(dir));) {
		const char *name = d->d_name;
		if (strlen(name) != len || memcmp(name, base, before - 1) ||
		    name[before - 1] != '-' || strspn(name + before, HEX) != HASH_DIGITS ||
		    strcmp(name + before + HASH_DIGITS, ".data") || !strcmp(name, location))
			continue;
		if (!looked && !map_file(old, &text, &size))
			break;
		looked = true;
		if (!size || !memmem(text, size, name, len))
			remove_unlocked(dirfd(dir), name);
	}
	if (looked && size)
		munmap(text, size);
	if (dir)
		closedir(dir);
}
