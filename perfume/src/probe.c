/* SPDX-License-Identifier: CC0-1.0 */
/* Contexts and their probes. */
#include "internal.h"

const char *perfume_error(void)
{
	return sentence ? sentence : "no error";
}

struct perfume_ctx *perfume_init(int flags)
{
	struct perfume_ctx *ctx;

	if (flags & ~(PERFUME_MULTI_FORMAT | PERFUME_PERSIST)) {
		fail(-EINVAL,
			"perfume_init: unknown flags; the valid ones are PERFUME_MULTI_FORMAT and "
			"PERFUME_PERSIST");
		errno = EINVAL;
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	ctx->file.fd = -1;
	ctx->flags = (uint8_t)flags;
	return ctx;
}

void perfume_free(struct perfume_ctx *ctx)
{
	int saved = errno;

	while (ctx && ctx->probes)
		perfume_probe_free(ctx->probes);
	free(ctx);
	errno = saved;
}

static struct perfume_probe *refuse(int error)
{
	errno = -error;
	return NULL;
}

/*
 * Allocates an unregistered probe with its texts. Returns NULL and sets the error message on
 * failure.
 */
static struct perfume_probe *probe_new(const char *name, const struct fields *fields, size_t n)
{
	struct perfume_probe *probe;
	size_t sizes = n * sizeof(probe->sizes[0]);
	char *text;

	probe = calloc(1, sizeof(*probe) + sizes + strlen(name) + 1 + fields->n + 1);
	if (!probe)
		return refuse(fail(-ENOMEM, "out of memory"));
	text = (char *)&probe->sizes[n];
	probe->n_fields = (uint32_t)n;
	probe->event.target = PERFUME_NO_TARGET;
	probe->event.word = &unused_word;
	probe->event.fields = memcpy(text, fields->text, fields->n + 1);
	probe->event.name = strcpy(text + fields->n + 1, name);
	return probe;
}

/* Called with the lock held. */
static void probe_remove(struct perfume_probe *probe)
{
	uint32_t *word = probe->event.word;
	int forgotten = event_remove(&probe->event);

	__atomic_store_n(&probe->event.word, &unused_word, __ATOMIC_RELEASE);
	if (forgotten)
		word_free(word);
}

/* Called with the lock held. */
static int probe_add(struct perfume_ctx *ctx, struct perfume_probe *probe)
{
	int error;

	probe->event.word = word_new();
	if (!probe->event.word)
		return fail(-ENOMEM, "out of memory");
	probe->event.wanted = ctx->flags;
	error = event_add(&ctx->file, &probe->event);
	if (error < 0) {
		probe_remove(probe);
		return error;
	}
	probe->ctx = ctx;
	probe->next = ctx->probes;
	if (probe->next)
		probe->next->previous = probe;
	ctx->probes = probe;
	return 0;
}

struct perfume_probe *perfume_register_fields(
	struct perfume_ctx *ctx, const char *name, const char *const *fields, size_t n)
{
	uint32_t sizes[COMMAND_MAX / 2];
	struct fields all = {0};
	struct perfume_probe *probe;
	const char *reason;
	sigset_t old;
	size_t i;
	int size;

	if (!ctx || perfume_check_name(name, &reason) < 0)
		return refuse(fail(-EINVAL, ctx ? reason : "the context is NULL"));
	if (n > sizeof(sizes) / sizeof(sizes[0]))
		return refuse(fail(-EINVAL, "the fields are longer than the kernel's 511 bytes"));
	for (i = 0; i < n; i++) {
		size = put_fields(&all, fields[i]);
		if (size < 0)
			return refuse(size);
		sizes[i] = (uint32_t)size;
	}
	probe = probe_new(name, &all, n);
	if (!probe)
		return NULL;
	for (i = 0; i < n; i++)
		probe->event.min_size += probe->sizes[i] = sizes[i];
	lock(&old);
	size = probe_add(ctx, probe);
	unlock(&old);
	if (size < 0) {
		free(probe);
		return refuse(size);
	}
	return probe;
}

struct perfume_probe *perfume_register(struct perfume_ctx *ctx, const char *name, ...)
{
	const char *fields[COMMAND_MAX / 2], *field;
	va_list args;
	size_t n = 0;

	va_start(args, name);
	while ((field = va_arg(args, const char *)) && n < sizeof(fields) / sizeof(fields[0]))
		fields[n++] = field;
	va_end(args);
	if (field)
		return refuse(fail(-EINVAL, "the fields are longer than the kernel's 511 bytes"));
	return perfume_register_fields(ctx, name, fields, n);
}

int perfume_add(struct perfume_ctx *ctx, const char *name)
{
	return perfume_register_fields(ctx, name, NULL, 0) ? 0 : -errno;
}

struct perfume_probe *perfume_find(struct perfume_ctx *ctx, const char *name)
{
	struct perfume_probe *probe;
	sigset_t old;

	lock(&old);
	probe = ctx->probes;
	while (probe && strcmp(probe->event.name, name))
		probe = probe->next;
	unlock(&old);
	return probe;
}

int perfume_deregister(struct perfume_ctx *ctx, struct perfume_probe *probe)
{
	sigset_t old;
	int saved = errno;

	if (!ctx || !probe || probe->ctx != ctx)
		return fail(-EINVAL, "the probe does not belong to this context");
	lock(&old);
	if (probe->event.file)
		probe_remove(probe);
	unlock(&old);
	errno = saved;
	return 0;
}

void perfume_probe_free(struct perfume_probe *probe)
{
	sigset_t old;
	int saved = errno;

	if (!probe)
		return;
	lock(&old);
	if (probe->event.file)
		probe_remove(probe);
	if (probe->next)
		probe->next->previous = probe->previous;
	if (probe->previous)
		probe->previous->next = probe->next;
	else
		probe->ctx->probes = probe->next;
	unlock(&old);
	free(probe);
	errno = saved;
}

int perfume_probe_flags(const struct perfume_probe *probe)
{
	return probe->event.granted;
}
