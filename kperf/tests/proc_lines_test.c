/* SPDX-License-Identifier: MIT */
/*
 * Lines of /proc as other kernels and machines print them, since a machine has neither all files
 * nor all their versions. It is linked with the objects of the library.
 */
#include "kperf_test.h"
#include "proc.h"

static void parse(struct proc_parser *p, size_t entry_size, proc_line_fn *fn, const char *text)
{
	char *copy = strdup(text);
	FILE *file = fmemopen(copy, strlen(copy), "r");

	*p = (struct proc_parser){.entry_size = entry_size};
	proc_each_line(p, file, fn);
	assert_false(p->failed);
	fclose(file);
	free(copy);
}

static void done(struct proc_parser *p)
{
	proc_blocks_free(p->blocks);
	free(p->entries);
}

static void schedstat_of_both_versions(void **state)
{
	static const char *const texts[] = {"version 15\ntimestamp 4294937296\n"
					    "cpu0 1 0 22 333 4444 55 666666 7777777 88\n"
					    "domain0 00000000,00000003 9 10 11\ndomain1 ff 12\n"
					    "cpu1 0 0 0 0 0 0 0 5 0\n",
		"version 17\ntimestamp 4294937296\n"
		"cpu0 1 0 22 333 4444 55 666666 7777777 88\n"
		"domain0 SMT 00000000,00000003 9 10 11\ndomain1 MC ff 12\n"
		"cpu1 0 0 0 0 0 0 0 5 0\n"};

	for (int i = 0; i < 2; i++) {
		const struct ProcSchedstatEntry *e;
		struct proc_parser p;

		parse(&p, sizeof(*e), proc_schedstat_line, texts[i]);
		e = p.entries;
		assert_int_equal(p.n, 2);
		assert_int_equal(e->cpuId, 0);
		assert_int_equal(e->yldCount, 1);
		assert_int_equal(e->schedCount, 22);
		assert_int_equal(e->schedGoidle, 333);
		assert_int_equal(e->ttwuCount, 4444);
		assert_int_equal(e->ttwuLocal, 55);
		assert_int_equal(e->rqCpuTime, 666666);
		assert_int_equal(e->runDelay, 7777777);
		assert_int_equal(e->pcount, 88);
		assert_int_equal(e->numDomains, 2);
		assert_string_equal(e->domains[0].mask, "00000000,00000003");
		assert_int_equal(e->domains[0].numValues, 3);
		assert_int_equal(e->domains[0].values[2], 11);
		assert_int_equal(e->domains[1].domainId, 1);
		assert_string_equal(e->domains[1].mask, "ff");
		assert_int_equal(e->domains[1].values[0], 12);
		assert_int_equal(e[1].numDomains, 0);
		assert_int_equal(e[1].runDelay, 5);
		done(&p);
	}
}

static void modules(void **state)
{
	const struct ProcModulesEntry *e;
	struct proc_parser p;

	parse(&p, sizeof(*e), proc_modules_line,
		"nf_nat 57344 2 xt_MASQUERADE,nft_chain_nat, Live 0xffffffffc0a3d000\n"
		"hold 16384 0 - Live 0xffffffffc0a00000 (OE)\n");
	e = p.entries;
	assert_int_equal(p.n, 2);
	assert_string_equal(e->name, "nf_nat");
	assert_int_equal(e->size, 57344);
	assert_int_equal(e->usedCount, 2);
	assert_string_equal(e->usedBy, "xt_MASQUERADE,nft_chain_nat,");
	assert_string_equal(e->state, "Live");
	assert_string_equal(e->address, "0xffffffffc0a3d000");
	assert_string_equal(e->taint, "");
	assert_string_equal(e[1].taint, "(OE)");
	done(&p);
}

static void scsi(void **state)
{
	const struct ProcScsiEntry *e;
	struct proc_parser p;

	parse(&p, sizeof(*e), proc_scsi_line,
		"Attached devices:\n"
		"Host: scsi0 Channel: 00 Id: 01 Lun: 02\n"
		"  Vendor: ATA      Model: QEMU HARDDISK    Rev: 2.5+\n"
		"  Type:   Direct-Access                    ANSI  SCSI revision: 05\n"
		"Host: scsi1 Channel: 00 Id: 00 Lun: 00\n"
		"  Vendor: QEMU     Model: QEMU DVD-ROM     Rev: 2.5+\n"
		"  Type:   CD-ROM                           ANSI  SCSI revision: 05\n");
	e = p.entries;
	assert_int_equal(p.n, 2);
	assert_string_equal(e->host, "scsi0");
	assert_string_equal(e->id, "01");
	assert_string_equal(e->lun, "02");
	assert_string_equal(e->vendor, "ATA");
	assert_string_equal(e->model, "QEMU HARDDISK");
	assert_string_equal(e->rev, "2.5+");
	assert_string_equal(e->type, "Direct-Access");
	assert_string_equal(e->ansiScsiRevision, "05");
	assert_string_equal(e[1].model, "QEMU DVD-ROM");
	assert_string_equal(e[1].type, "CD-ROM");
	done(&p);
}

static void locks_that_wait(void **state)
{
	const struct ProcLocksEntry *e;
	struct proc_parser p;

	parse(&p, sizeof(*e), proc_locks_line,
		"1: POSIX  ADVISORY  WRITE 699 00:31:15569 1024 EOF\n"
		"1: -> POSIX  ADVISORY  READ 700 00:31:15569 0 9\n");
	e = p.entries;
	assert_int_equal(p.n, 2);
	assert_int_equal(e[1].numFields, 8);
	assert_string_equal(e->fields[4].key, "pid");
	assert_string_equal(e->fields[4].value, "699");
	assert_string_equal(e[1].fields[1].value, "POSIX");
	assert_string_equal(e[1].fields[4].value, "700");
	assert_string_equal(e[1].fields[7].value, "9");
	done(&p);
}

static void environments_of_any_bytes(void **state)
{
	const char bytes[] = "A=1\0B=\377\376x\0C\0D=a=b";
	FILE *file = fmemopen((char *)bytes, sizeof(bytes), "r");
	struct proc_parser p = {.entry_size = sizeof(struct ProcPidEnvironEntry)};
	const struct ProcPidEnvironEntry *e;

	proc_environ_file(&p, file);
	e = p.entries;
	assert_int_equal(p.n, 4);
	assert_string_equal(e[1].value, "\377\376x");
	assert_string_equal(e[2].name, "C");
	assert_string_equal(e[2].value, "");
	assert_string_equal(e[3].value, "a=b");
	fclose(file);
	done(&p);
}

static void long_files(void **state)
{
	enum { BYTES = 100000 };
	char *bytes = calloc(1, BYTES);
	FILE *file = fmemopen(bytes, BYTES, "r");
	struct proc_parser p = {.entry_size = sizeof(struct ProcPidCmdlineEntry)};

	memset(bytes, 'x', BYTES - 1);
	proc_cmdline_file(&p, file);
	assert_int_equal(strlen(((struct ProcPidCmdlineEntry *)p.entries)->cmdline), BYTES - 1);
	fclose(file);
	free(bytes);
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedstat_of_both_versions),
		cmocka_unit_test(modules),
		cmocka_unit_test(scsi),
		cmocka_unit_test(locks_that_wait),
		cmocka_unit_test(environments_of_any_bytes),
		cmocka_unit_test(long_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
