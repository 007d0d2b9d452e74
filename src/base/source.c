/*
 * source.c: the texts of a compilation and places in them.
 * In: a text in memory, kept by reference. Out: offsets in one space shared by all texts, and line
 * and column of an offset. Holds: a text that source_add() accepted is valid UTF-8 without 0
 * bytes, without a byte order mark, at most 2 GiB - 2 long (flex counts in int). Offset 0 belongs
 * to no text, so the span {0, 0} means "no place". The offset at a text's end belongs to that text.
 */
#include <string.h>

#include "base/base.h"

#define MAX_TEXT 0x7ffffffeu

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

uint32_t utf8_len(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned c = s[0];
	if (c < 0x80)
		return 1;
	uint32_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4 || left < n)
		return 0;
	for (uint32_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
	    (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

size_t utf8_put(char to[4], uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Offset of the first byte that is 0 or no UTF-8; len if there is none. */
static uint32_t first_bad(const char *text, uint32_t len)
{
	uint32_t i = 0;
	while (i < len) {
		uint64_t w;
		/* eight bytes that are ASCII and not 0, the usual case */
		while (len - i >= 8) {
			memcpy(&w, text + i, 8);
			if ((w | (w - 0x0101010101010101u)) & 0x8080808080808080u)
				break;
			i += 8;
		}
		if (i == len)
			break;
		uint32_t n = utf8_len(text + i, len - i);
		if (!n || !text[i])
			return i;
		i += n;
	}
	return len;
}

static bool check_text(struct ctx *cx, const struct source *f)
{
	uint32_t i = first_bad(f->text, f->len);
	if (i == f->len)
		return true;
	struct span at = {f->base + i, f->base + i + 1};
	unsigned byte = (unsigned char)f->text[i];
	bool utf16 =
		f->len >= 2 && (!memcmp(f->text, "\xff\xfe", 2) || !memcmp(f->text, "\xfe\xff", 2));
	if (utf16)
		error(cx, at, E_ENCODING, "the text is UTF-16; save it as UTF-8");
	else if (!byte)
		error(cx, at, E_ENCODING,
		      "a 0 byte: this is a binary file, not .ptg text; 'ptgc dump FILE' shows an "
		      "ONNX model");
	else
		error(cx, at, E_ENCODING, "byte 0x%02x is not valid UTF-8", byte);
	return false;
}

struct source *source_add(struct ctx *cx, const char *name, const char *dir, const char *text,
			  size_t len)
{
	uint64_t base = 1;
	if (cx->sources.len) {
		const struct source *last = cx->sources.at[cx->sources.len - 1];
		base = (uint64_t)last->base + last->len + 1;
	}
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		len -= 3;
	}
	if (len > MAX_TEXT || base + len >= text_limit(cx)) {
		error(cx, (struct span){0, 0}, E_LIMIT, "%s: %s", name,
		      len > MAX_TEXT ? "the text is larger than 2 GiB"
				     : "all texts together are larger than 4 GiB");
		return NULL;
	}
	struct source *f = new (cx->arena, struct source);
	f->name = name;
	f->dir = dir;
	f->text = text;
	f->len = (uint32_t)len;
	f->base = (uint32_t)base;
	*vec_push(cx->arena, &cx->sources) = f;
	return check_text(cx, f) ? f : NULL;
}

struct source *source_of(struct ctx *cx, struct span s)
{
	uint32_t low = 0, high = cx->sources.len, call;
	s = text_place(cx, s, &call);
	if (!s.begin)
		return NULL;
	while (low < high) { /* the first source that begins after s */
		uint32_t mid = low + (high - low) / 2;
		if (cx->sources.at[mid]->base <= s.begin)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	struct source *f = cx->sources.at[low - 1];
	return s.begin - f->base <= f->len ? f : NULL;
}

static void make_lines(struct ctx *cx, struct source *f)
{
	vec(uint32_t) lines = {0};
	const char *p = f->text, *end = f->text + f->len;
	*vec_push(cx->arena, &lines) = 0;
	while (p < end && (p = memchr(p, '\n', (size_t)(end - p))))
		*vec_push(cx->arena, &lines) = (uint32_t)(++p - f->text);
	f->lines = lines.at;
	f->nlines = lines.len;
}

struct place source_place(struct ctx *cx, uint32_t offset)
{
	struct source *f = source_of(cx, (struct span){offset, offset});
	if (!f)
		return (struct place){0};
	if (!f->lines)
		make_lines(cx, f);
	uint32_t at = offset - f->base, low = 0, high = f->nlines;
	while (high - low > 1) { /* the last line that begins at or before `at` */
		uint32_t mid = low + (high - low) / 2;
		if (f->lines[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	uint32_t begin = f->lines[low];
	uint32_t end = low + 1 < f->nlines ? f->lines[low + 1] - 1 : f->len;
	if (end > begin && f->text[end - 1] == '\r')
		end--;
	return (struct place){f, low + 1, at - begin + 1, f->text + begin, end - begin};
}
