/*
 * signals.c: a signal that ends the process while files are written leaves the older files as they
 * are, and no temporary file. In: the sinks of these files. What the handler needs to know lies at
 * the beginning of its stack, as there are no globals.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define HANDLER_STACK 65536

struct watch {
	struct file_sink *sinks[MAX_OUTPUTS];
	size_t n;
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* SIGBUS is the only sign that a mapped file was cut short or that its disk fails. */
static void on_signal(int number)
{
	static const char text[] = "ptgc: " CUT_SHORT "\n";
	stack_t stack;
	if (!sigaltstack(NULL, &stack)) {
		const struct watch *w = stack.ss_sp;
		for (size_t i = 0; i < w->n; i++)
			file_sink_abandon(w->sinks[i]);
	}
	if (number == SIGBUS) {
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		_exit(EXIT_USAGE);
	}
	raise(number); /* ends the process: the handler is no longer installed */
}

static bool is_ignored(int number)
{
	struct sigaction old;
	return !sigaction(number, NULL, &old) && old.sa_handler == SIG_IGN;
}

struct watch *watch_signals(struct file_sink *const *sinks, size_t n)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
	struct watch *w = malloc(HANDLER_STACK);
	if (!w)
		return NULL;
	for (w->n = 0; w->n < n; w->n++)
		w->sinks[w->n] = sinks[w->n];
	if (sigaltstack(&(stack_t){.ss_sp = w, .ss_size = HANDLER_STACK}, NULL)) {
		free(w);
		return NULL;
	}
	sigfillset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
	for (size_t i = 0; i < countof(signals); i++)
		if (!is_ignored(signals[i]))
			sigaction(signals[i], &action, NULL);
	return w;
}

void unwatch_signals(struct watch *w)
{
	if (!w)
		return;
	signal(SIGBUS, SIG_DFL);
	for (size_t i = 0; i < countof(signals); i++)
		if (!is_ignored(signals[i]))
			signal(signals[i], SIG_DFL);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	free(w);
}

static sigset_t all_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < countof(signals); i++)
		sigaddset(&set, signals[i]);
	return set;
}

void hold_signals(void)
{
	sigset_t set = all_signals();
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void release_signals(bool done)
{
	sigset_t set = all_signals();
	while (done && sigtimedwait(&set, NULL, &(struct timespec){0, 0}) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
