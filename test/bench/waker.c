/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A task that sleeps until it is sent SIGUSR1, runs for some microseconds, sleeps
 * again. */
#include <signal.h>
#include <unistd.h>

static void woken(int signal)
{
	(void)signal;
}

int main(void)
{
	struct sigaction action = {.sa_handler = woken};

	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return 1;
	for (;;)
		pause();
}
