/* Signal dispositions and masks, which a new program inherits from whoever started us. */
#pragma once

/* Unblocks every signal and gives those that are ignored their default action (execve(2) keeps both). Handlers are not looked at: clone3
 * with CLONE_CLEAR_SIGHAND has none. Reads proc_pid_status(5), so /proc must be the one that sees this process. 0 or a negative errno. */
int signals_reset(void);
