/* SPDX-License-Identifier: MIT */
/* The resolver of symbol.h, on this program. */
#include <elf.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "kperf_test.h"

static char *own_path(void)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return path;
}

static void addresses_of_a_process(void **state)
{
	unsigned long address = (unsigned long)test_fault;
	struct Symbol *symbol;

	assert_null(SymResolverMapAddr(getpid(), address));
	test_error_is(LIBSYM_ERR_NOT_FIND_PID);
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), address + 3);
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "test_fault");
	assert_string_equal(symbol->mangleName, "test_fault");
	assert_string_equal(symbol->module, own_path());
	assert_int_equal(symbol->offset, 3);
	assert_int_equal(symbol->addr, address + 3);
	assert_true(symbol->codeMapEndAddr > symbol->codeMapAddr);
	SymResolverDestroy();
	assert_string_equal(symbol->symbolName, "test_fault"); /* the caller's */
	FreeSymbolPtr(symbol);
	FreeSymbolPtr(NULL);
}

static void stacks(void **state)
{
	unsigned long ips[] = {(unsigned long)test_burn + 8, (unsigned long)test_getppid + 1};
	struct Stack *stack;

	assert_int_equal(SymResolverRecordModuleNoDwarf(getpid()), SUCCESS);
	stack = StackToHash(getpid(), ips, 2);
	assert_non_null(stack);
	assert_string_equal(stack->symbol->symbolName, "test_burn");
	assert_int_equal(stack->symbol->offset, 8);
	assert_null(stack->prev);
	assert_string_equal(stack->next->symbol->symbolName, "test_getppid");
	assert_ptr_equal(stack->next->prev, stack);
	assert_null(stack->next->next);
	FreeModuleData(getpid());
	stack = StackToHash(getpid(), ips, 2); /* without mappings */
	assert_string_equal(stack->symbol->symbolName, "UNKNOWN");
	assert_string_equal(stack->symbol->fileName, "Unknown");
	assert_string_equal(stack->next->symbol->mangleName, "UNKNOWN");
	assert_null(stack->next->next);
	assert_null(SymResolverMapAddr(getpid(), ips[0]));
	test_error_is(LIBSYM_ERR_NOT_FIND_PID);
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	stack = StackToHash(getpid(), ips, 2);
	assert_string_equal(stack->symbol->symbolName, "test_burn");
	assert_null(StackToHash(getpid(), NULL, 2));
	SymResolverDestroy();
}

static void pid_0_is_the_caller(void **state)
{
	unsigned long ips[] = {(unsigned long)test_burn + 8};
	struct Symbol *symbol;

	assert_int_equal(SymResolverRecordModule(0), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), ips[0]);
	assert_string_equal(symbol->symbolName, "test_burn");
	FreeSymbolPtr(symbol);
	symbol = SymResolverMapAddr(0, ips[0]);
	assert_string_equal(symbol->symbolName, "test_burn");
	FreeSymbolPtr(symbol);
	assert_string_equal(StackToHash(0, ips, 1)->symbol->symbolName, "test_burn");
	assert_int_equal(SymResolverIncrUpdateModule(0), SUCCESS);
	FreeModuleData(0);
	assert_null(SymResolverMapAddr(getpid(), ips[0]));
	assert_int_equal(SymResolverUpdateModule(0, own_path(), 0x7000000000), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), ips[0]); /* its own mapping was read, too */
	assert_string_equal(symbol->symbolName, "test_burn");
	FreeSymbolPtr(symbol);
	SymResolverDestroy();
}

static void addresses_of_a_relative_path(unsigned long address)
{
	char folder[PATH_MAX], path[PATH_MAX + 2], *slash;
	struct Symbol *symbol;

	strcpy(folder, own_path());
	slash = strrchr(folder, '/');
	*slash = '\0';
	assert_int_equal(chdir(folder), 0);
	sprintf(path, "./%s", slash + 1);
	symbol = SymResolverMapCodeAddr(path, address);
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "test_fault");
	assert_string_equal(symbol->module, own_path());
	FreeSymbolPtr(symbol);
	assert_int_equal(SymResolverUpdateModule(getppid(), path, 0x7000000000), SUCCESS);
	symbol = SymResolverMapAddr(getppid(), 0x7000000000 + address);
	assert_string_equal(symbol->symbolName, "test_fault");
	FreeSymbolPtr(symbol);
}

static void addresses_of_a_file(void **state)
{
	unsigned long address;
	struct Symbol *first, *symbol;

	/* The address in the file is that which the process's symbol has. */
	SymResolverInit();
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	first = SymResolverMapAddr(getpid(), (unsigned long)test_fault + 5);
	address = first->codeMapAddr;
	symbol = SymResolverMapCodeAddr(own_path(), address);
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "test_fault");
	assert_int_equal(symbol->offset, 5);
	FreeSymbolPtr(symbol);
	FreeSymbolPtr(first);
	addresses_of_a_relative_path(address);
	symbol = SymResolverMapCodeAddr(own_path(), 1UL << 40);
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "UNKNOWN");
	assert_string_equal(symbol->module, own_path());
	assert_true(symbol->codeMapAddr == 1UL << 40);
	FreeSymbolPtr(symbol);
	assert_int_equal(Perrorno(), SUCCESS);
	assert_null(SymResolverMapCodeAddr("/no/such/file", 5));
	test_error_is(LIBSYM_ERR_FILE_NOT_RGE);
	assert_null(SymResolverMapCodeAddr("[kernel]", 5));
	test_error_is(LIBSYM_ERR_MAP_CODE_KERNEL_NOT_SUPPORT);
	SymResolverDestroy();
}

static void a_module_at_an_address(void **state)
{
	unsigned long start = 0x7000000000, in_file;
	struct Symbol *first, *symbol;

	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	first = SymResolverMapAddr(getpid(), (unsigned long)test_fault);
	in_file = first->codeMapAddr;
	FreeSymbolPtr(first);
	FreeModuleData(getpid());
	assert_int_equal(SymResolverUpdateModule(getpid(), own_path(), start), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), start + in_file); /* a PIE begins at 0 */
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "test_fault");
	FreeSymbolPtr(symbol);
	/* The mappings of a process that was not known are read first. */
	symbol = SymResolverMapAddr(getpid(), (unsigned long)strtoul);
	assert_non_null(symbol);
	assert_non_null(strstr(symbol->module, "libc"));
	FreeSymbolPtr(symbol);
	assert_null(SymResolverMapAddr(getpid(), 0x1000));
	test_error_is(LIBSYM_ERR_MAP_ADDR_MODULE_FAILED);
	test_returns(
		SymResolverUpdateModule(0x7ffffff, own_path(), start), LIBSYM_ERR_OPEN_FILE_FAILED);
	SymResolverDestroy();
}

static void addresses_of_the_kernel(void **state)
{
	unsigned long address = 0;
	struct Symbol *symbol;
	char name[128], line[256];
	FILE *file;

	test_need_root();
	if (SymResolverRecordKernel() != SUCCESS) {
		test_error_is(LIBSYM_ERR_KALLSYMS_INVALID);
		skip();
	}
	file = fopen("/proc/kallsyms", "r");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx %*c %127s", &address, name) == 2 &&
			strcmp(name, "schedule") == 0)
			break;
	fclose(file);
	symbol = SymResolverMapAddr(-1, address + 4);
	assert_non_null(symbol);
	assert_string_equal(symbol->symbolName, "schedule");
	assert_string_equal(symbol->module, "[kernel]");
	assert_int_equal(symbol->offset, 4);
	FreeSymbolPtr(symbol);
	/* A process whose kernel addresses were looked up is not recorded yet. */
	FreeSymbolPtr(SymResolverMapAddr(getpid(), address));
	assert_int_equal(SymResolverRecordModule(getpid()), SUCCESS);
	symbol = SymResolverMapAddr(getpid(), (unsigned long)test_fault);
	assert_non_null(symbol);
	FreeSymbolPtr(symbol);
	SymResolverDestroy();
}

/* A line for each instruction. */
static void is_text_of(const struct StackAsm *code, const struct Symbol *symbol)
{
	char *text = NULL, line[256];
	const char *at;

	assert_int_equal(
		GetAsmCodeByAddr(own_path(), symbol->codeMapAddr, symbol->codeMapEndAddr, &text),
		SUCCESS);
	at = text;
	for (; code; code = code->next, at += strlen(line)) {
		snprintf(
			line, sizeof(line), "%lx:\t%s\n", code->asmCode->addr, code->asmCode->code);
		assert_int_equal(strncmp(at, line, strlen(line)), 0);
	}
	assert_string_equal(at, "");
	free(text);
}

static void code_as_text(void **state)
{
	struct StackAsm *code;
	struct Symbol *symbol;
	char *text = NULL;

	assert_null(SymResolverAsmCode("/no/such/file", 8, 8));
	test_error_is(LIBSYM_ERR_FILE_INVALID);
	assert_null(SymResolverAsmCode(own_path(), 8, 8));
	test_error_is(LIBSYM_ERR_START_SMALLER_END);
	test_returns(GetAsmCodeByAddr(own_path(), 8, 8, &text), LIBSYM_ERR_START_SMALLER_END);
	test_returns(GetAsmCodeByAddr(own_path(), 8, 9, NULL), LIBPERF_ERR_NULL_POINTER);
	assert_null(text);
	if (system("objdump --version >/dev/null 2>&1") != 0)
		skip();
	SymResolverRecordModule(getpid());
	symbol = SymResolverMapAddr(getpid(), (unsigned long)test_fault);
	code = SymResolverAsmCode(own_path(), symbol->codeMapAddr, symbol->codeMapEndAddr);
	assert_non_null(code);
	assert_string_equal(code->funcName, "test_fault");
	assert_int_equal(code->asmCode->addr, symbol->codeMapAddr);
	assert_int_equal(code->funcStartAddr, symbol->codeMapAddr);
	assert_true(code->next && code->next->asmCode->addr > code->asmCode->addr);
	assert_true(strlen(code->asmCode->code) > 2);
	is_text_of(code, symbol);
	FreeAsmStack(code);
	FreeSymbolPtr(symbol);
	assert_null(SymResolverAsmCode(own_path(), 1UL << 40, (1UL << 40) + 16));
	test_error_is(LIBSYM_ERR_CMD_OPERATE_FAILED);
	test_returns(GetAsmCodeByAddr(own_path(), 1UL << 40, (1UL << 40) + 16, &text),
		LIBSYM_ERR_ASM_RESOLVE_FAILED);
	SymResolverDestroy();
}

/* It has nothing but its header. */
static void a_file_without_build_id(void)
{
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_phentsize = sizeof(Elf64_Phdr)};
	char path[] = "/tmp/kperf-XXXXXX", *id = NULL;
	int fd = mkstemp(path);

	header.e_ident[EI_CLASS] = ELFCLASS64;
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
	test_returns(SymGetBuildId(path, &id), LIBSYM_ERR_READ_BUILDID);
	unlink(path);
}

/* In a child process without /proc/kallsyms. */
static void a_hidden_kernel(void **state)
{
	pid_t child;
	int status;

	test_need_root();
	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
			mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			mount("tmpfs", "/proc", "tmpfs", 0, NULL) != 0) {
			print_message("no file system can be mounted here: %m\n");
			_exit(0);
		}
		_exit(SymResolverRecordKernel() != LIBSYM_ERR_KALLSYMS_INVALID ||
			!test_has_error(LIBSYM_ERR_KALLSYMS_INVALID));
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void a_zombie_has_no_modules(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	test_returns(SymResolverRecordModule(pid), LIBSYM_ERR_OPEN_FILE_FAILED);
	waitpid(pid, NULL, 0);
}

static void bad_files(void **state)
{
	char *id = NULL;

	test_returns(SymResolverRecordElf("/no/such/file"), LIBSYM_ERR_FILE_NOT_RGE);
	test_returns(SymResolverRecordDwarf("/no/such/file"), LIBSYM_ERR_FILE_NOT_RGE);
	test_returns(SymResolverUpdateModule(getpid(), "/no/such/file", 0x4000),
		LIBSYM_ERR_FILE_NOT_RGE);
	test_returns(SymResolverRecordElf(NULL), LIBSYM_ERR_FILE_NOT_RGE);
	test_returns(SymResolverRecordElf("/"), LIBSYM_ERR_FILE_NOT_RGE);
	test_returns(SymResolverRecordElf("/etc/passwd"), LIBSYM_ERR_ELFIN_FOMAT_FAILED);
	assert_int_equal(SymResolverRecordElf(own_path()), SUCCESS);
	test_returns(SymResolverRecordDwarf("/bin/true"), LIBSYM_ERR_DWARF_FORMAT_FAILED);
	test_returns(SymGetBuildId("/etc/passwd", &id), LIBSYM_ERR_READ_BUILDID);
	test_returns(SymGetBuildId("/no/such/file", &id), LIBSYM_ERR_OPEN_FILE_FAILED);
	test_returns(SymGetBuildId(own_path(), NULL), LIBPERF_ERR_NULL_POINTER);
	test_returns(SymResolverRecordModule(-1), LIBSYM_ERR_PARAM_PID_INVALID);
	test_returns(SymResolverRecordModule(0x7ffffff), LIBSYM_ERR_OPEN_FILE_FAILED);
	a_zombie_has_no_modules();
	test_returns(SymResolverUpdateModule(-1, own_path(), 0), LIBSYM_ERR_PARAM_PID_INVALID);
	if (SymGetBuildId(own_path(), &id) == SUCCESS) {
		assert_int_equal(strlen(id), 40);
		assert_int_equal(strspn(id, "0123456789abcdef"), 40);
		free(id);
	} else {
		test_error_is(LIBSYM_ERR_READ_BUILDID);
	}
	a_file_without_build_id();
	SymResolverDestroy();
	SymResolverDestroy();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_a_process),
		cmocka_unit_test(stacks),
		cmocka_unit_test(pid_0_is_the_caller),
		cmocka_unit_test(addresses_of_a_file),
		cmocka_unit_test(a_module_at_an_address),
		cmocka_unit_test(addresses_of_the_kernel),
		cmocka_unit_test(code_as_text),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(a_hidden_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
