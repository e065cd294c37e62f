/* SPDX-License-Identifier: MIT */
/* Machine code as text, by objdump(1). */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm.h"
#include "elf_file.h"
#include "error.h"
#include "symbol.h"

extern char **environ;

/* Starts objdump with two options; its output is *ret_out. 0: it cannot be started. */
static pid_t start_objdump(const char *path, const char *from, const char *to, FILE **ret_out)
{
	const char *const argv[] = {
		"objdump", "-d", "--no-show-raw-insn", from, to, "--", path, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*ret_out = r == 0 ? fdopen(ends[0], "r") : NULL;
	if (!*ret_out)
		close(ends[0]);
	return r == 0 ? pid : 0;
}

/* "0000000000001129 <main>:" begins a function, "    1129:\tpush %rbp" is an instruction. */
static struct StackAsm *parse_line(char *line, const char *function, unsigned long function_at)
{
	unsigned long address;
	int used = 0;
	struct StackAsm *new;

	if (sscanf(line, " %lx:%n", &address, &used) != 1 || used == 0)
		return NULL;
	line += used + strspn(line + used, " \t");
	line[strcspn(line, "\n")] = '\0';
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	new->asmCode = calloc(1, sizeof(*new->asmCode));
	new->funcName = strdup(function);
	if (new->asmCode)
		new->asmCode->code = strdup(line);
	if (!new->asmCode || !new->asmCode->code || !new->funcName) {
		FreeAsmStack(new);
		return NULL;
	}
	new->funcStartAddr = function_at;
	new->functFileOffset = address - function_at;
	new->asmCode->addr = address;
	return new;
}

static struct StackAsm *parse(FILE *out)
{
	struct StackAsm *first = NULL, **end = &first;
	char line[1024], function[512] = "", name[512];
	unsigned long function_at = 0, address;

	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%lx <%511[^>]>:", &address, name) == 2 && line[0] != ' ') {
			strcpy(function, name);
			function_at = address;
			continue;
		}
		*end = parse_line(line, function, function_at);
		if (*end)
			end = &(*end)->next;
	}
	return first;
}

/* NULL: objdump shows no code. */
static struct StackAsm *disassemble(const char *path, const char *from, const char *to)
{
	struct StackAsm *code = NULL;
	FILE *out = NULL;
	pid_t pid = start_objdump(path, from, to, &out);

	if (out) {
		code = parse(out);
		fclose(out);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return code;
}

static bool is_return(const char *instruction)
{
	static const char *const prefixes[] = {"repz ", "bnd "};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(instruction, prefixes[i], strlen(prefixes[i])) == 0)
			instruction += strlen(prefixes[i]);
	return strncmp(instruction, "ret", 3) == 0;
}

size_t kp_asm_returns(const char *path, const char *function, unsigned long **ret_offsets)
{
	struct StackAsm *code = NULL;
	size_t n = 0;
	char *option;

	*ret_offsets = NULL;
	if (asprintf(&option, "--disassemble=%s", function) >= 0) {
		code = disassemble(path, option, "-w");
		free(option);
	}
	for (const struct StackAsm *at = code; at; at = at->next)
		n += is_return(at->asmCode->code);
	*ret_offsets = n ? calloc(n, sizeof(**ret_offsets)) : NULL;
	n = 0;
	for (const struct StackAsm *at = code; *ret_offsets && at; at = at->next)
		if (is_return(at->asmCode->code))
			(*ret_offsets)[n++] = at->functFileOffset;
	FreeAsmStack(code);
	return n;
}

struct StackAsm *SymResolverAsmCode(const char *path, unsigned long start, unsigned long end)
{
	struct StackAsm *code;
	struct elf_file file;
	char from[64], to[64];

	kp_begin();
	if (!path || access(path, F_OK) < 0) {
		kp_fail(LIBSYM_ERR_FILE_INVALID, "the file %s does not exist",
			path ? path : "NULL");
		return NULL;
	}
	if (start >= end) {
		kp_fail(LIBSYM_ERR_START_SMALLER_END, "the range 0x%lx to 0x%lx is empty", start,
			end);
		return NULL;
	}
	if (elf_file_read(path, &file) != SUCCESS)
		return NULL;
	elf_file_done(&file);
	snprintf(from, sizeof(from), "--start-address=0x%lx", start);
	snprintf(to, sizeof(to), "--stop-address=0x%lx", end);
	code = disassemble(path, from, to);
	if (!code)
		kp_fail(LIBSYM_ERR_CMD_OPERATE_FAILED,
			"objdump (package binutils) shows no code at 0x%lx of %s", start, path);
	return code;
}

int GetAsmCodeByAddr(const char *path, unsigned long start, unsigned long end, char **ret_text)
{
	struct StackAsm *code;
	size_t size;
	FILE *text;

	kp_begin();
	if (!ret_text)
		return kp_fail(LIBPERF_ERR_NULL_POINTER, "GetAsmCodeByAddr(): asmCode is NULL");
	code = SymResolverAsmCode(path, start, end);
	if (!code && Perrorno() == LIBSYM_ERR_CMD_OPERATE_FAILED)
		return kp_fail(LIBSYM_ERR_ASM_RESOLVE_FAILED, "%s", Perror());
	if (!code)
		return Perrorno();
	text = open_memstream(ret_text, &size);
	for (const struct StackAsm *at = code; text && at; at = at->next)
		fprintf(text, "%lx:\t%s\n", at->asmCode->addr, at->asmCode->code);
	FreeAsmStack(code);
	if (!text || fclose(text) != 0)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	return SUCCESS;
}

void FreeAsmStack(struct StackAsm *code)
{
	for (struct StackAsm *next; code; code = next) {
		next = code->next;
		if (code->asmCode)
			free(code->asmCode->code);
		free(code->asmCode);
		free(code->funcName);
		free(code);
	}
}
