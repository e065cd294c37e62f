/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

static const struct command_option list_options[] = {
	{"PATTERN",
		"list only events whose name contains this text, or events of this kind (hardware,"
		" cache, software, PMU, tracepoint); * and ? match as in a shell. The full name of"
		" a tracepoint shows its fields and example commands; usdt:FILE lists the"
		" USDT probes in a program or library"},
	{"-v, --verbose", "also list events that cannot be opened on this system, with the reason"},
	{"--names", "print only names, one per line"},
	{"--json", "print a report in JSON"},
	{"--input FILE", "list the events of a recording or script, and how many samples each has"},
	{0},
};

static const struct command_option doctor_options[] = {
	{"(no option)", "print each check and its fix, and change nothing; exit status 0: no "
			"check is BLOCKED, 4: at least one is"},
	{"PROFILER", "check only what this profiler needs, and list the capabilities that it uses: "
		     "what for, whether attar has them, and which setting makes them unnecessary"},
	{"--json", "print a report in JSON"},
	{0},
};

static const struct command_option user_events_options[] = {
	{"PART", "list only events whose name contains this text"},
	{"-d, --duration TIME",
		"count events for this time: seconds, or with a unit: 500ms, 5s, 1m"},
	{"--json", "print a report in JSON"},
	{"watch NAME", "print each occurrence of the event; takes the options of 'attar trace'"},
	{0},
};

static const struct command_option kcore_options[] = {
	{"ADDRESS|SYMBOL",
		"the address: a number, or a variable or function, optionally with +OFFSET"},
	{"N", "the number of values (default 1); with --string: the maximum length (default 256)"},
	{"-1, -2, -4, -8", "the size of a value in bytes (default 8)"},
	{"--string", "read a string up to its NUL"},
	{"--symbols", "also show the symbol that each value points to"},
	{"--file FILE", "read this memory dump (ELF) instead of /proc/kcore"},
	{"--json", "print a report in JSON"},
	{0},
};

static const struct command_option usdt_options[] = {
	{"add [PROVIDER:NAME@]FILE[@ADDRESS] [ARGUMENTS]",
		"create tracepoints PROVIDER:NAME for the USDT probes in a program or library, "
		"which persist until they are deleted; * and ? match. With ADDRESS (a number, or "
		"FUNCTION"
		"[+OFFSET]), only at this location. ARGUMENTS are as in a probe's note (-4@%edi "
		"8@16(%rsp)), or as the kernel reads them (name=%di:s32)"},
	{"del PROVIDER:NAME", "delete these tracepoints; * and ? match"},
	{"list [FILE[:PROVIDER[:NAME]]]",
		"list the probes in a file; without a file: the added tracepoints"},
	{"--json", "print a report in JSON"},
	{0},
};

static const struct command_option symbols_options[] = {
	{"FILE", "a binary, shared library or vmlinux; addresses are those of its symbol table, in "
		 "a .o or .ko file offsets in .text"},
	{"ADDRESS...",
		"hexadecimal; without any, addresses are read from standard input, one per line"},
	{"-p PID", "addresses of the memory of this process (or of the kernel) instead of a file"},
	{"--no-inlines",
		"print only the innermost function, not the functions it was inlined into"},
	{"--no-demangle", "print linkage names of C++ and Rust"},
	{"--style=llvm", "accept input and print output as llvm-symbolizer does (numbers without "
			 "0x are decimal, 'DATA ADDRESS' asks for a variable)"},
	{"--json", "print a report in JSON"},
	{0},
};

static const struct command_option python_options[] = {
	{"-e, --event EVENT",
		"the events; may be repeated; default with --input: all events of the recording"},
	{"-g, --call-graph", "record call stacks"},
	{"SCRIPT [ARGUMENTS]",
		"a file or module of Python; its function sys__event(event) is called for each "
		"event sys:event, __sample__(event) for others"},
	{"-- COMMAND", "run this command, and exit when it does"},
	{"help", "(instead of SCRIPT) print a script with all fields of the events"},
	{"-v, --verbose", "print on stderr which file the script was loaded from"},
	{"(others)", "-p, -t, -C, -i, -d, -N, -m, --input and the other common options of "
		     "'attar trace'"},
	{0},
};

static const struct command_option stack_options[] = {
	{"-p PID", "show all threads of this process"},
	{"-t TID", "show only this thread"},
	{"-k, --kernel", "also show the kernel functions in which a thread waits (as root)"},
	{"--inline", "list inlined functions"},
	{"--lines", "show source lines"},
	{"--bytes SIZE", "copy at most this much of each stack (default 1M)"},
	{"--no-demangle", "print linkage names of C++ and Rust"},
	{"--json", "print a report in JSON"},
	{0},
};

static const struct command_option diff_options[] = {
	{"BEFORE AFTER", "results in JSON (-o FILE.json), databases (-o FILE.db), or recordings, "
			 "whose profiles are compared; exit status 2: an error"},
	{"--fail-above PCT",
		"exit with status 1 if a significant change is larger than this percentage of the "
		"value before, or than this number of percentage points for values in percent"},
	{"--confidence PCT",
		"the minimum confidence of significant changes, from 50 to below 100 (default 99)"},
	{"-o, --output FILE",
		"also write the differences to FILE, in the format given by its extension; may be "
		"repeated"},
	{"--format NAME", "format of stdout"},
	{"--folded FILE", "write folded stacks with both weights, for other tools"},
	{0},
};

static const struct command_option agent_options[] = {
	{"-c, --config FILE",
		"the configuration: a section [agent] with the keys below, and for each profiler "
		"a section with its command line, such as run = profile -F 19 -g -i 10s"},
	{"--check", "check the configuration, but start nothing; exit status 2: it is invalid"},
	{"--listen [ADDRESS:]PORT",
		"serve the metrics of all profilers and of the agent at /metrics"},
	{"--listen-token-file, --listen-cert, --listen-key FILE, --insecure yes",
		"as for profilers"},
	{"--metrics FILE.prom", "write these metrics to a file, which is replaced each second"},
	{"--max-cpu PCT", "use at most this share of one CPU: frequencies are lowered, then "
			  "profilers paused"},
	{"--max-memory SIZE", "use at most this much memory"},
	{"--metrics-mode MODE",
		"mode of the file of --metrics, such as 0644 (default: 0600 for root)"},
	{"--limit-interval TIME", "how often the limits are checked (default 1m)"},
	{"--user NAME", "run as this user, with the capabilities that profilers need"},
	{"--capabilities LIST",
		"also keep these capabilities: cap_bpf, cap_sys_admin, cap_dac_override"},
	{0},
};

static const struct command_option fleet_options[] = {
	{"-H, --hosts HOST,...", "the hosts, as for ssh: names, USER@HOST, or hosts of its "
				 "configuration; may be repeated"},
	{"--pull ADDRESS", "an address to which a host pushes its events (--push), which are "
			   "analysed here; may be repeated"},
	{"PROFILER [OPTIONS] [-- COMMAND]",
		"the profiler to run on each host, with its options; output options such as -o, "
		"--format and --rows apply to the merged report"},
	{"--by-host", "do not merge: show the host of each row, histogram and stack"},
	{"--ssh CMD", "the ssh command, such as 'ssh -F FILE -p 2222' (default ssh)"},
	{"--attar PATH", "the path of attar on the hosts (default: attar in the PATH there)"},
	{"--copy FILE", "copy this static attar to hosts that have none; it is deleted at the end"},
	{"--timeout TIME", "how long a host may take to get ready, to send a report that others "
			   "have sent, and to end after Ctrl-C (default 20s)"},
	{0},
};

static const struct command_option no_options[] = {{0}};

static const struct attar_example list_examples[] = {
	{"list", "the events of each kind that can be opened"},
	{"list sched:sched_switch", "the fields of a tracepoint"},
	{"list --input perf.data", "the events of a recording"},
	{0},
};

static const struct attar_example doctor_examples[] = {
	{"doctor", "what the system supports"},
	{"doctor offcpu", "what a profiler needs"},
	{0},
};

static const struct attar_example user_events_examples[] = {
	{"user-events -d 1s", "the events of programs, and how often they occur"},
	{"user-events watch order_placed", "each occurrence of one"},
	{0},
};

static const struct attar_example kcore_examples[] = {
	{"kcore jiffies", "the value of a variable of the kernel"},
	{"kcore --string linux_banner", "a string"},
	{0},
};

static const struct attar_example symbols_examples[] = {
	{"symbols ./program 1480", "an address in a file"},
	{"symbols -p 1234 7f12a4c01480", "an address in a process"},
	{0},
};

static const struct attar_example python_examples[] = {
	{"python -e sched:sched_wakeup help", "a script to begin with"},
	{"python -e sched:sched_wakeup script.py", "call a script for each wakeup"},
	{0},
};

static const struct attar_example stack_examples[] = {
	{"stack -p 1234", "what each thread of a process does now"},
	{"stack -p 1234 --inline --lines", "with inlined functions and source lines"},
	{0},
};

static const struct attar_example diff_examples[] = {
	{"diff before.json after.json", "significant changes between two results"},
	{"diff before.json after.json --fail-above 5%", "for CI: fail if one is above 5 %"},
	{0},
};

static const struct attar_example agent_examples[] = {
	{"agent --check -c agent.conf", "check a configuration"},
	{"agent -c /etc/attar/agent.conf", "run its profilers until SIGTERM"},
	{0},
};

static const struct attar_example fleet_examples[] = {
	{"fleet -H web1,web2 profile -a -g -d 30s -o fleet.html", "a flame graph of two hosts"},
	{"fleet -H web1,web2 --by-host runqlat -d 10s", "the hosts side by side"},
	{0},
};

static const struct attar_example usdt_examples[] = {
	{"usdt list /usr/bin/python3", "the probes in a program"},
	{"usdt add 'python:function__entry@/usr/bin/python3'", "create tracepoints for one"},
	{0},
};

static const struct attar_example help_examples[] = {
	{"help profile", "how to read the results of a profiler, and its options"},
	{0},
};

static const struct attar_example completion_examples[] = {
	{"completion bash", "a script for bash: source <(attar completion bash)"},
	{0},
};

const struct command commands[] = {
	{"list", "[PATTERN | profilers]", "list the events available on this system", list_options,
		command_list, "event", .examples = list_examples},
	{"doctor", "[PROFILER] [--json]", "check system support and suggest fixes", doctor_options,
		command_doctor, "name", .examples = doctor_examples},
	{"user-events", "[PART] | watch NAME", "list the events that programs have registered",
		user_events_options, command_user_events, .examples = user_events_examples},
	{"kcore", "[OPTIONS] ADDRESS|SYMBOL [N]", "read memory of the running kernel",
		kcore_options, command_kcore, .examples = kcore_examples},
	{"symbols", "[OPTIONS] FILE|-p PID [ADDRESS...]",
		"show functions, source lines and inlined functions of addresses", symbols_options,
		command_symbols, "file", .examples = symbols_examples},
	{"python", "[OPTIONS] SCRIPT [ARGUMENTS] [-- COMMAND]",
		"call the functions of a Python script for each event", python_options,
		command_python, "file", .examples = python_examples},
	{"stack", "[OPTIONS] -p PID|-t TID", "show the stacks of all threads of a running process",
		stack_options, command_stack, "pid", .examples = stack_examples},
	{"diff", "[OPTIONS] BEFORE AFTER", "compare two results of a profiler", diff_options,
		command_diff, "file", .examples = diff_examples},
	{"agent", "-c FILE [--check] [OPTIONS]", "run profilers permanently, as a service",
		agent_options, command_agent, "file", .examples = agent_examples},
	{"fleet", "-H HOST,... [OPTIONS] PROFILER [OPTIONS] [-- COMMAND]",
		"run a profiler on several hosts and merge their reports", fleet_options,
		command_fleet, "name", .examples = fleet_examples},
	{"usdt", "add|del|list ...", "create tracepoints for the USDT probes of programs",
		usdt_options, command_usdt, .examples = usdt_examples},
	{"help", "[NAME]", "show the manual of a profiler or command", no_options, command_help,
		"name", .examples = help_examples},
	{"completion", "bash|zsh|fish", "print a completion script for a shell", no_options,
		command_completion, "shell", .examples = completion_examples},
	{0},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Commands of perf and bcc whose names are not similar to those of attar. */
static const struct {
	const char *name, *ours;
} elsewhere[] = {
	{"report", "attar profile --input FILE"},
	{"script", "attar trace --input FILE"},
	{"sched", "attar rundelay"},
	{"timechart", "attar wall -o FILE.html"},
	{"mem", "attar ldlat-loads"},
	{"probe", "attar trace -e kprobe:FUNCTION"},
	{"archive", "attar record --portable"},
	{"daemon", "attar agent"},
	{"funccount", "attar stat -e kprobe:FUNCTION"},
	{"funclatency", "attar multi-trace -e kprobe:FUNCTION -e kretprobe:FUNCTION"},
	{"argdist", "attar num-dist"},
};

static const char *find_elsewhere(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!strcmp(elsewhere[i].name, name))
			return elsewhere[i].ours;
	return NULL;
}

int command_unknown(const char *name)
{
	struct suggest near = {.word = name};
	const char *ours = find_elsewhere(name);

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&near, (*p)->name);
	for (const struct command *c = commands; c->name; c++)
		suggest_offer(&near, c->name);
	if (ours)
		attar_fail(-ENOENT, "unknown profiler or command '%s'" ATTAR_FIX "use '%s'", name,
			ours);
	else if (near.best)
		attar_fail(-ENOENT,
			"unknown profiler or command '%s'" ATTAR_FIX "did you mean '%s'?",
			CLIP(name), near.best);
	else
		attar_fail(-ENOENT,
			"unknown profiler or command '%s'" ATTAR_FIX "'attar -h' lists them",
			CLIP(name));
	return report_error(STATUS_USAGE);
}
