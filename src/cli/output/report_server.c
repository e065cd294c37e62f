/* SPDX-License-Identifier: MIT */
#include "cli/output/report_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct report_server_page {
	const struct attar_sink *sink;
	struct attar_renderer *renderer; /* NULL: of a whole run, made for each report */
	FILE *file;                      /* in memory: text, size */
	char *text;
	size_t size;
};

/* Where the sink's page is; NULL: it has none. */
static const char *path_of(const struct attar_sink *sink)
{
	if (sink->replaces)
		return "/metrics";
	return strncmp(sink->media_type, "text/html", 9) == 0 ? "/" : NULL;
}

static int make_renderer(struct report_server *served, struct report_server_page *page)
{
	const struct attar_render_opts opts = {.size = sizeof(opts), .command = served->command};

	return attar_renderer_new(page->sink->name, page->file, &opts, &page->renderer);
}

static int add_page(struct report_server *served, const struct attar_sink *sink)
{
	struct report_server_page *page = calloc(1, sizeof(*page));

	if (!page || vec_push(&served->pages, page) < 0) {
		free(page);
		return base_oom();
	}
	page->sink = sink;
	page->file = open_memstream(&page->text, &page->size);
	if (!page->file)
		return base_oom();
	return sink->whole_run ? 0 : make_renderer(served, page);
}

static int report_server_start(struct report_server *served, struct http_server_opts *opts)
{
	VEC(struct http_server_page) pages = {0};
	int r = 0;

	for (const struct attar_sink *const *sink = attar_sinks(); *sink && r == 0; sink++) {
		const char *path = path_of(*sink);

		if (!path)
			continue;
		r = add_page(served, *sink);
		if (r == 0)
			r = vec_push(
				&pages, ((struct http_server_page){path, (*sink)->media_type}));
	}
	opts->pages = pages.at;
	opts->n_pages = pages.n;
	if (r == 0)
		r = http_server_start(opts, &served->server);
	vec_done(&pages);
	return r;
}

static struct http_server_opts opts_of(const struct output_options *options)
{
	return (struct http_server_opts){.address = options->listen,
		.token_file = options->listen_token_file,
		.certificate = options->listen_cert,
		.key = options->listen_key,
		.insecure = options->insecure};
}

static int check_options(const struct output_options *options, bool has_intervals)
{
	if (!options->listen && (options->listen_token_file || options->listen_cert ||
					options->listen_key || options->insecure))
		return attar_fail(-EINVAL, "--listen-token-file, --listen-cert, --listen-key and "
					   "--insecure require --listen ADDRESS:PORT");
	if (options->listen && !has_intervals)
		return attar_fail(-EINVAL,
			"--listen requires intervals" ATTAR_FIX "add -i TIME, for example -i 10s");
	return 0;
}

int report_server_check(const struct output_options *options, bool has_intervals,
	struct sockaddr_storage *ret_address)
{
	const struct http_server_opts opts = opts_of(options);
	int r = check_options(options, has_intervals);

	*ret_address = (struct sockaddr_storage){0};
	return r == 0 && options->listen ? http_server_check(&opts, ret_address) : r;
}

int report_server_open(struct report_server *served, const struct output_options *options,
	const char *command, bool has_intervals)
{
	struct http_server_opts opts = opts_of(options);
	int r = check_options(options, has_intervals);

	if (r < 0 || !options->listen)
		return r;
	served->command = command;
	return report_server_start(served, &opts);
}

static int draw_page(struct report_server *served, size_t i, const struct attar_report *report)
{
	struct report_server_page *page = served->pages.at[i];
	int r = page->renderer ? 0 : make_renderer(served, page);

	if (r < 0)
		return r;
	rewind(page->file);
	r = attar_renderer_draw(page->renderer, report);
	if (page->sink->whole_run)
		page->renderer = attar_renderer_free(page->renderer);
	if (r == 0 && fflush(page->file) != 0)
		r = -errno;
	return r == 0 ? http_server_publish(served->server, i, page->text, page->size) : r;
}

int report_server_draw(struct report_server *served, const struct attar_report *report)
{
	int r = 0;

	for (size_t i = 0; i < served->pages.n && r == 0; i++)
		r = draw_page(served, i, report);
	return r;
}

void report_server_close(struct report_server *served)
{
	http_server_free(served->server);
	vec_each (&served->pages, page) {
		attar_renderer_free((*page)->renderer);
		if ((*page)->file)
			fclose((*page)->file);
		free((*page)->text);
		free(*page);
	}
	vec_done(&served->pages);
	*served = (struct report_server){0};
}
