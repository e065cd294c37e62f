// SPDX-License-Identifier: MIT
// A profiler outside of the library, in C++11: which signals are sent, at least --least times.
#include <attar/attar-run.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace
{

constexpr std::size_t n_signals = 65;

// The run allocates it zeroed and calls no constructor.
struct signals {
	uint64_t sent[n_signals];
	uint64_t least;
};

int on_generate(attar_run *, void *self, const attar_event *ev)
{
	const uint64_t sig = attar_arg_u64(ev, 0);

	if (sig < n_signals)
		static_cast<signals *>(self)->sent[sig]++;
	return 0;
}

// It is read as long as the run exists.
attar_input make_input()
{
	attar_input input = {};

	input.event = "signal:signal_generate";
	input.fields[0] = "sig";
	input.on_event = on_generate;
	return input;
}

int open_events(attar_run *run, void *)
{
	static const attar_input input = make_input();

	return attar_run_input(run, &input);
}

void defaults(void *self)
{
	static_cast<signals *>(self)->least = 1;
}

int report(attar_run *, void *self, attar_report *report, attar_scope)
{
	const signals *state = static_cast<const signals *>(self);
	attar_section *table = attar_report_table(report, "signals");

	attar_section_column(table, "signal", ATTAR_UNIT_TEXT);
	attar_section_column(table, "sent", ATTAR_UNIT_COUNT);
	for (std::size_t sig = 1; sig < n_signals; sig++) {
		if (state->sent[sig] < state->least)
			continue;
		attar_section_row(table);
		attar_cell_text(table, strsignal(static_cast<int>(sig)));
		attar_cell_u64(table, state->sent[sig]);
	}
	return 0;
}

constexpr attar_option options[] = {
	ATTAR_COUNT(
		signals, least, 'n', "least", "N", "omit what was sent less often", ATTAR_MIN(1)),
	{},
};
constexpr attar_example examples[] = {
	{"signals --least 10", "signals that are sent often"},
	{},
};

// C++20 also has designated initializers.
attar_profiler make_profiler()
{
	attar_profiler p = {};

	p.name = "signals";
	p.group = "System calls";
	p.summary = "count signals by number";
	p.uses = ATTAR_USES_RINGS;
	p.self_size = sizeof(signals);
	p.options = options;
	p.examples = examples;
	p.defaults = defaults;
	p.open = open_events;
	p.report = report;
	return p;
}

// The command that the run watches.
std::vector<std::string> words = {
	"sh", "-c", "trap : USR1; i=0; while [ $i -lt 23 ]; do kill -USR1 $$; i=$((i + 1)); done"};

int print(void *ctx, const attar_report *report, attar_scope)
{
	return attar_renderer_draw(static_cast<attar_renderer *>(ctx), report);
}

} // namespace

int main(int argc, char **argv)
{
	const attar_profiler profiler = make_profiler();
	attar_renderer *renderer = nullptr;
	attar_run *run = nullptr;
	attar_run_hooks hooks = {};
	std::vector<char *> command;

	for (std::string &word : words)
		command.push_back(&word[0]);
	command.push_back(nullptr);
	int r = attar_run_from(&profiler, &run);
	for (int i = 1; r >= 0 && i < argc; i += r)
		r = attar_run_set_word(run, argv[i], argv[i + 1]);
	if (r >= 0)
		r = attar_renderer_new("text", stdout, nullptr, &renderer);
	if (r == 0) {
		attar_run_command(run, command.data());
		hooks.size = sizeof(hooks);
		hooks.ctx = renderer;
		hooks.report = print;
		r = attar_run_go(run, &hooks);
	}
	if (r < 0)
		std::fprintf(stderr, "%s\n", attar_error());
	attar_renderer_free(renderer);
	attar_run_free(run);
	return r < 0;
}
