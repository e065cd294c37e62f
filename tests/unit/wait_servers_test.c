/* SPDX-License-Identifier: MIT */
/* The server of a file system, by the mount of the file that a thread waits for. */
#include "unit.h"

#include "wait/wait.h"

static const char table[] =
	"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"40 21 0:45 / /srv/nas rw,relatime shared:9 master:1 - nfs4 nas.example:/export "
	"rw,vers=4.2,rsize=1048576,namlen=255,hard,proto=tcp,timeo=600,clientaddr=192.0.2.9,"
	"local_lock=none,addr=192.0.2.1\n"
	"41 21 0:46 / /srv/nas/deep rw - nfs 192.0.2.7:/deep "
	"rw,vers=3,addr=2001:db8::7,mountaddr=192.0.2.8\n"
	"42 21 0:47 / /srv/old rw - nfs old:/x rw,vers=3,mountaddr=192.0.2.8\n"
	"43 21 0:48 / /home/u/remote\\040files rw - fuse.sshfs u@host:/ rw,user_id=1000\n"
	"broken\n"
	"44 21 0:49 / /short - \n";

static struct wait_mount find(int id, const char *path)
{
	char copy[sizeof(table)];
	struct wait_mount mount;
	bool is_found;

	memcpy(copy, table, sizeof(table));
	is_found = wait_find_mount(copy, id, path, &mount);
	assert_int_equal(is_found, *mount.where != '\0');
	return mount;
}

static void assert_text(const struct wait_mount *mount, const char *expected)
{
	struct attar_wait wait = {.size = sizeof(wait)};
	char text[ATTAR_WAIT_TEXT_BYTES];

	wait_set_mount(&wait, mount);
	assert_int_equal(wait.kind, ATTAR_WAIT_SERVER);
	assert_string_equal(attar_wait_text(&wait, text), expected);
}

static void test_path(void **state)
{
	assert_string_equal(find(0, "/etc/passwd").where, "/");
	assert_string_equal(find(0, "/srv/nasty").where, "/");
	assert_string_equal(find(0, "/srv/nas").where, "/srv/nas");
	assert_string_equal(find(0, "/srv/nas/a").where, "/srv/nas");
	assert_string_equal(find(0, "/srv/nas/deep/a").where, "/srv/nas/deep");
	assert_string_equal(find(41, "/").type, "nfs");
	assert_int_equal(find(40, "/").device, 45);
	assert_string_equal(find(99, "/").where, "");
}

/* The address belongs to the server, not to the client or its mount daemon. */
static void test_server_of_nfs(void **state)
{
	struct wait_mount mount = find(40, "/");

	assert_string_equal(mount.address, "192.0.2.1");
	assert_text(&mount, "the file system /srv/nas of nas.example:/export (192.0.2.1)");
	mount = find(0, "/srv/nas/deep/a");
	assert_text(&mount, "the file system /srv/nas/deep of 192.0.2.7:/deep (2001:db8::7)");
	mount = find(42, "/");
	assert_string_equal(mount.address, "");
	assert_text(&mount, "the file system /srv/old of old:/x");
}

static void test_others(void **state)
{
	struct wait_mount mount = find(43, "/");

	assert_text(&mount, "the file system /home/u/remote\\040files (fuse.sshfs)");
}

/* Any process at the other end of a pipe can write; all that have an open file keep its lock. */
static void test_several(void **state)
{
	struct attar_wait wait = {.size = sizeof(wait),
		.kind = ATTAR_WAIT_FILE_LOCK,
		.pid = 7,
		.comm = "holder",
		.others = 2,
		.object = "/f"};
	char text[ATTAR_WAIT_TEXT_BYTES];

	(void)state;
	assert_string_equal(attar_wait_text(&wait, text),
		"the lock of file /f, held by holder (7) and 2 other processes");
	wait.kind = ATTAR_WAIT_UNIX;
	assert_string_equal(attar_wait_text(&wait, text),
		"data of a UNIX socket /f, written by holder (7) or 2 other processes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_server_of_nfs),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
