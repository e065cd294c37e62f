/* SPDX-License-Identifier: MIT */
#include "cli/site.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"

/* The sink of each page. */
static const char *const sinks[] = {[SERVER_PROMETHEUS] = "prometheus",
	[SERVER_OPENMETRICS] = "openmetrics",
	[SERVER_HTML] = "html"};

static int open_metrics(struct site *site)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(site->metrics) && r == 0; i++) {
		struct site_metrics *m = &site->metrics[i];

		m->file = open_memstream(&m->text, &m->size);
		r = m->file ? attar_renderer_new(sinks[i], m->file, NULL, &m->renderer)
			    : base_oom();
	}
	return r;
}

int site_open(struct site *site, const struct output_options *options, const char *command,
	bool has_intervals)
{
	const struct server_opts opts = {.address = options->listen,
		.token_file = options->listen_token_file,
		.certificate = options->listen_cert,
		.key = options->listen_key,
		.insecure = options->insecure};
	int r;

	if (!options->listen) {
		if (opts.token_file || opts.certificate || opts.key || opts.insecure)
			return attar_fail(-EINVAL,
				"--listen-token-file, --listen-cert, --listen-key and --insecure "
				"are for --listen ADDRESS:PORT");
		return 0;
	}
	if (!has_intervals)
		return attar_fail(-EINVAL,
			"--listen shows the results of intervals: add -i TIME, for example -i 10s");
	site->command = command;
	r = open_metrics(site);
	return r == 0 ? server_start(&opts, &site->server) : r;
}

static int draw_metrics(struct site *site, enum server_page page, const struct attar_report *report)
{
	struct site_metrics *m = &site->metrics[page];
	int r;

	rewind(m->file);
	r = attar_renderer_draw(m->renderer, report);
	if (r == 0 && fflush(m->file) != 0)
		r = -errno;
	return r == 0 ? server_publish(site->server, page, m->text, m->size) : r;
}

/* A page is drawn by a renderer of its own: it shows a whole run. */
static int draw_html(struct site *site, const struct attar_report *report)
{
	const struct attar_render_opts opts = {.size = sizeof(opts), .command = site->command};
	struct attar_renderer *renderer = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int r = file ? attar_renderer_new(sinks[SERVER_HTML], file, &opts, &renderer) : base_oom();

	if (r == 0)
		r = attar_renderer_draw(renderer, report);
	attar_renderer_free(renderer);
	if (file && fclose(file) != 0)
		r = -errno;
	if (r == 0)
		r = server_publish(site->server, SERVER_HTML, text, size);
	free(text);
	return r;
}

int site_draw(struct site *site, const struct attar_report *report)
{
	int r = 0;

	for (enum server_page page = 0; page < SERVER_HTML && r == 0; page++)
		r = draw_metrics(site, page, report);
	return r == 0 ? draw_html(site, report) : r;
}

void site_close(struct site *site)
{
	server_free(site->server);
	for (size_t i = 0; i < ARRAY_SIZE(site->metrics); i++) {
		struct site_metrics *m = &site->metrics[i];

		attar_renderer_free(m->renderer);
		if (m->file)
			fclose(m->file);
		free(m->text);
	}
	*site = (struct site){0};
}
