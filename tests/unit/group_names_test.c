/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "names/container.h"
#include "names/group_names.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHORT "0123456789ab"
#define OTHER "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD   "11111111-2222-3333-4444-555555555555"
#define POD_  "11111111_2222_3333_4444_555555555555"

static void assert_part(const struct path_part *part, const char *wanted)
{
	assert_int_equal(part->n, strlen(wanted));
	assert_memory_equal(part->at ? part->at : "", wanted, part->n);
}

static void test_paths(void **state)
{
	static const struct {
		const char *path;
		enum container_kind kind;
		const char *container, *pod, *unit;
	} cases[] = {
		{"/", CONTAINER_NONE, "", "", ""},
		{"", CONTAINER_NONE, "", "", ""},
		{"/docker/" ID, CONTAINER_DOCKER, ID, "", ""},
		{"/system.slice/docker-" ID ".scope", CONTAINER_DOCKER, ID, "",
			"docker-" ID ".scope"},
		{"/docker/" ID "/system.slice/cron.service", CONTAINER_DOCKER, ID, "",
			"cron.service"},
		{"/docker/" OTHER "/docker/" ID, CONTAINER_DOCKER, ID, "", ""},
		{"/kubepods/burstable/pod" POD "/" ID, CONTAINER_UNKNOWN, ID, POD, ""},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_
		 ".slice/cri-containerd-" ID ".scope",
			CONTAINER_CONTAINERD, ID, POD_, "cri-containerd-" ID ".scope"},
		{"/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope", CONTAINER_CRIO, ID,
			POD_, "crio-" ID ".scope"},
		{"/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID ".scope",
			CONTAINER_NONE, "", POD_, "crio-conmon-" ID ".scope"},
		{"/system.slice/containerd.service/kubepods-burstable-pod" POD_
		 ".slice:cri-containerd:" ID,
			CONTAINER_CONTAINERD, ID, POD_, "containerd.service"},
		{"/machine.slice/libpod-" ID ".scope/container", CONTAINER_PODMAN, ID, "",
			"libpod-" ID ".scope"},
		{"/libpod_parent/libpod-" ID, CONTAINER_PODMAN, ID, "", ""},
		{"/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope",
			CONTAINER_PODMAN, ID, OTHER, "libpod-" ID ".scope"},
		{"/system.slice/nerdctl-" ID ".scope", CONTAINER_CONTAINERD, ID, "",
			"nerdctl-" ID ".scope"},
		{"/default/" ID, CONTAINER_UNKNOWN, ID, "", ""},
		{"/lxc.payload.web/init.scope", CONTAINER_NAMED, "web", "", "init.scope"},
		{"/lxc.payload/web", CONTAINER_NAMED, "web", "", ""},
		{"/lxc/web/user.slice", CONTAINER_NAMED, "web", "", "user.slice"},
		{"/lxc.monitor.web", CONTAINER_NONE, "", "", ""},
		{"/machine.slice/machine-deb.scope/payload", CONTAINER_NAMED, "deb", "",
			"machine-deb.scope"},
		{"/system.slice/nginx.service", CONTAINER_NONE, "", "", "nginx.service"},
		{"/system.slice/system-getty.slice/getty@tty1.service", CONTAINER_NONE, "", "",
			"getty@tty1.service"},
		{"/user.slice/user-1000.slice/session-3.scope", CONTAINER_NONE, "", "",
			"session-3.scope"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/a.service",
			CONTAINER_NONE, "", "", "a.service"},
		{"/user.slice/user-1000.slice", CONTAINER_NONE, "", "", "user-1000.slice"},
		{"/a.service/sub.slice/x", CONTAINER_NONE, "", "", "a.service"},
		/* what only looks like it */
		{"/docker/short", CONTAINER_NONE, "", "", ""},
		{"/docker-" SHORT "z.scope", CONTAINER_NONE, "", "", "docker-" SHORT "z.scope"},
		{"/pod" POD "/x", CONTAINER_NONE, "", "", ""},
		{"/kubepods/pod/x", CONTAINER_NONE, "", "", ""},
		{"/0123456789ab", CONTAINER_NONE, "", "", ""},
		{"/.scope/.service", CONTAINER_NONE, "", "", ""},
		{"/a:b:c", CONTAINER_NONE, "", "", ""},
		{"//docker//" ID "//", CONTAINER_DOCKER, ID, "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct group_path parts;

		print_message("%s\n", cases[i].path);
		group_path_parse(cases[i].path, strlen(cases[i].path), &parts);
		assert_int_equal(parts.kind, cases[i].kind);
		assert_part(&parts.container, cases[i].container);
		assert_part(&parts.pod, cases[i].pod);
		assert_part(&parts.unit, cases[i].unit);
	}
}

static void put(const char *name, const char *text)
{
	folder_put(name, text, strlen(text));
}

static void assert_names(const char *root, enum container_kind kind, const char *id,
	const char *name, const char *pod)
{
	struct container_names names;

	assert_int_equal(container_find_names(root, kind, id, &names), *name != '\0');
	assert_string_equal(names.name, name);
	assert_string_equal(names.pod, pod);
}

#define DOCKER_FILE "var/lib/docker/containers/" ID "/config.v2.json"
#define CRI_FILE    "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define CRIO_FILE   "run/containers/storage/overlay-containers/" ID "/userdata/config.json"
#define PODMAN_FILE "var/lib/containers/storage/overlay-containers/containers.json"

static void test_names_of_docker(void **state)
{
	const char *root = folder_make();

	assert_names(root, CONTAINER_DOCKER, ID, "", "");
	put(DOCKER_FILE,
		"{\"State\":{\"Pid\":[1,{}]},\"Name\":\"/web\",\"Config\":{\"Image\":\"x\","
		"\"Labels\":{\"a\":\"b\"}}}");
	assert_names(root, CONTAINER_DOCKER, ID, "web", "");
	assert_names(root, CONTAINER_UNKNOWN, ID, "web", "");
	assert_names(root, CONTAINER_CRIO, ID, "", "");
	put(DOCKER_FILE,
		"{\"Name\":\"/k8s_x\",\"Config\":{\"Labels\":{\"io.kubernetes.pod.name\":\"p\","
		"\"io.kubernetes.pod.namespace\":\"ns\",\"io.kubernetes.container.name\":\"c\"}}}");
	assert_names(root, CONTAINER_DOCKER, ID, "c", "ns/p");
	folder_remove();
}

static void test_names_of_bundles(void **state)
{
	const char *root = folder_make();

	put(CRI_FILE, "{\"ociVersion\":\"1\",\"annotations\":{"
		      "\"io.kubernetes.cri.container-type\":\"container\","
		      "\"io.kubernetes.cri.container-name\":\"nginx\","
		      "\"io.kubernetes.cri.sandbox-namespace\":\"default\","
		      "\"io.kubernetes.cri.sandbox-name\":\"web-0\"}}");
	assert_names(root, CONTAINER_CONTAINERD, ID, "nginx", "default/web-0");
	put(CRI_FILE, "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
		      "\"io.kubernetes.cri.sandbox-name\":\"web-0\"}}");
	assert_names(root, CONTAINER_CONTAINERD, ID, "pause", "web-0");
	put(CRIO_FILE, "{\"annotations\":{\"io.kubernetes.container.name\":\"db\","
		       "\"io.kubernetes.pod.name\":\"pg\",\"io.kubernetes.pod.namespace\":\"n\"}}");
	assert_names(root, CONTAINER_CRIO, ID, "db", "n/pg");
	folder_remove();
}

static void test_names_of_podman(void **state)
{
	const char *root = folder_make();

	put(PODMAN_FILE, "[{\"id\":\"" OTHER "\",\"names\":[\"no\"]},{\"names\":[\"yes\",\"also\"],"
			 "\"layer\":{},\"id\":\"" ID "\"}]");
	assert_names(root, CONTAINER_PODMAN, ID, "yes", "");
	assert_names(root, CONTAINER_PODMAN, OTHER, "no", "");
	assert_names(root, CONTAINER_PODMAN, SHORT, "", "");
	folder_remove();
}

static const char *runc_name(struct runc_states *states, const char *root, const char *group)
{
	runc_states_read(states, root);
	return runc_states_find(states, group) ?: "";
}

static void test_names_of_runc(void **state)
{
	const char *root = folder_make();
	struct runc_states states = {0};

	assert_string_equal(runc_name(&states, root, "/a/box"), "");
	put("run/runc/half/state.json", "{\"cgroup_paths\":{\"memory\":\"/sys/half\"");
	put("run/runc/box/state.json", "{\"id\":\"box\",\"cgroup_paths\":{\"memory\":"
				       "\"/sys/fs/cgroup/memory/a/box\",\"\":null}}");
	assert_string_equal(runc_name(&states, root, "/a/box"), "box");
	assert_string_equal(runc_name(&states, root, "/a/box/below/it"), "box");
	assert_string_equal(runc_name(&states, root, "/a/box2"), "");
	assert_string_equal(runc_name(&states, root, "/b/box"), "");
	assert_string_equal(runc_name(&states, root, "/half"), "");
	put("run/runc/half/state.json", "{\"cgroup_paths\":{\"memory\":\"/sys/half\"}}");
	assert_string_equal(runc_name(&states, root, "/half"), "half"); /* when it is complete */
	put("run/runc/other/state.json", "{\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/any/name\"}}");
	assert_string_equal(runc_name(&states, root, "/any/name"), "other");
	assert_string_equal(runc_name(&states, root, "/a"), "");
	assert_string_equal(runc_name(&states, root, "/"), "");
	assert_string_equal(runc_name(&states, root, "/.."), "");
	runc_states_done(&states);
	folder_remove();
}

/* Files that are damaged, too large, or no files; names with control characters, and too long. */
static void test_hostile_files(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "{\"Name\":1}", "{\"Name\":\"/a\"",
		"{\"Name\":\"/a\"}}x{", "{\"Name\":\"\\ud800\",",
		"{\"Config\":[[[[[[[[[[[[[[[[[[[[[[[[[[["};
	const char *root = folder_make();
	char *large = calloc(1, (5 << 20) + 1), path[4096];
	struct container_names names;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(DOCKER_FILE, texts[i]);
		if (i != 5) /* what follows is not read */
			assert_names(root, CONTAINER_DOCKER, ID, "", "");
	}
	memset(large, ' ', 5 << 20);
	put(DOCKER_FILE, large);
	assert_names(root, CONTAINER_DOCKER, ID, "", "");
	memset(large, 'a', 1000);
	memcpy(large, "{\"Name\":\"", 9);
	strcpy(large + 1000, "\"}");
	put(DOCKER_FILE, large);
	assert_true(container_find_names(root, CONTAINER_DOCKER, ID, &names));
	assert_int_equal(strlen(names.name), CONTAINER_NAME_BYTES - 1);
	snprintf(path, sizeof(path), "%s/" DOCKER_FILE, root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_names(root, CONTAINER_DOCKER, ID, "", ""); /* and does not wait */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_names(root, CONTAINER_DOCKER, ID, "", "");
	assert_names(root, CONTAINER_DOCKER, "../x", "", "");
	assert_names(root, CONTAINER_DOCKER, "..", "", "");
	free(large);
	folder_remove();
}

static uint32_t of_path(struct group_names *g, const char *path)
{
	return group_names_of_path(g, path, strlen(path));
}

static const char *name_of(const struct group_names *g, enum group_kind kind, uint32_t group)
{
	return group_names_text(g, kind, group_names_get(g, kind, group));
}

static const char *plain_of(const struct group_names *g, enum group_kind kind, uint32_t group)
{
	return group_names_plain(g, kind, group_names_get(g, kind, group));
}

static void test_groups(void **state)
{
	struct group_names g = {.root = folder_make()};
	uint32_t a = of_path(&g, "/docker/" ID), b = of_path(&g, "/docker/" ID "/x.service"),
		 c = of_path(&g, "/docker/" OTHER), d = of_path(&g, "/user.slice/a.service"),
		 e = of_path(&g, "/system.slice/a.service");

	put(DOCKER_FILE, "{\"Name\":\"/web\"}");
	assert_int_equal(of_path(&g, "/docker/" ID), a);
	assert_true(a && b && a != b && group_names_get(&g, GROUP_CONTAINER, a));
	assert_int_equal(
		group_names_get(&g, GROUP_CONTAINER, a), group_names_get(&g, GROUP_CONTAINER, b));
	assert_int_not_equal(
		group_names_get(&g, GROUP_UNIT, d), group_names_get(&g, GROUP_UNIT, e));
	assert_string_equal(name_of(&g, GROUP_UNIT, d), "a.service");
	assert_string_equal(name_of(&g, GROUP_CONTAINER, a), SHORT);
	assert_string_equal(name_of(&g, GROUP_CONTAINER, d), "");
	assert_string_equal(name_of(&g, GROUP_CONTAINER, 0), "");
	group_names_resolve(&g);
	assert_string_equal(name_of(&g, GROUP_CONTAINER, b), "web");
	assert_string_equal(name_of(&g, GROUP_CGROUP, b), "/docker/" ID "/x.service");
	/* another one with the same name */
	assert_int_equal(group_names_set(&g, group_names_get(&g, GROUP_CONTAINER, c), "web"), 0);
	assert_string_equal(name_of(&g, GROUP_CONTAINER, a), "web (" SHORT ")");
	assert_string_equal(plain_of(&g, GROUP_CONTAINER, a), "web");
	assert_string_equal(plain_of(&g, GROUP_UNIT, d), "a.service");
	assert_string_equal(plain_of(&g, GROUP_POD, a), "");
	/* no longer */
	assert_int_equal(group_names_set(&g, group_names_get(&g, GROUP_CONTAINER, c), "db"), 0);
	assert_string_equal(name_of(&g, GROUP_CONTAINER, a), "web");
	assert_string_equal(name_of(&g, GROUP_CONTAINER, c), "db");
	group_names_done(&g);
	folder_remove();
}

static void test_texts_of_proc(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{"0::/system.slice/a.service\n", "/system.slice/a.service"},
		{"9:name=systemd:/system.slice/a.service\n8:pids:/\n0::/\n",
			"/system.slice/a.service"},
		{"4:memory:/docker/" ID "\n9:name=systemd:/x.service\n0::/y\n", "/docker/" ID},
		{"4:memory:/m\n9:name=systemd:/s\n0::/u\n", "/u"},
		{"4:memory:/m\n9:name=systemd:/s\n0::/\n", "/s"},
		{"4:memory:/m\n9:name=systemd:/\n0::/\n", "/m"},
		{"4:memory:/\n9:name=systemd:/\n0::/\n", "/"},
		{"0::/a:b:c/d", "/a:b:c/d"},
	};
	struct group_names g = {.root = ""};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			name_of(&g, GROUP_CGROUP, group_names_of_text(&g, cases[i].text)),
			cases[i].path);
	assert_int_equal(group_names_of_text(&g, ""), 0);
	assert_int_equal(group_names_of_text(&g, "nonsense\n::\n1:x\n1:x:y\n"), 0);
	group_names_done(&g);
}

static void test_limit(void **state)
{
	struct group_names g = {.root = ""};
	char path[32];

	for (int i = 0; i < GROUPS_MAX + 10; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		of_path(&g, path);
	}
	assert_int_equal(g.groups.n, GROUPS_MAX);
	assert_int_equal(g.dropped, 11);
	group_names_done(&g);
}

#if defined(__x86_64__)
enum { MANY = 20000 };
#else
enum { MANY = 2000 }; /* an emulated CPU is slow, and the time is limited */
#endif

/* Users who may make control groups can make very many, and very deep ones. */
static void test_many_groups(void **state)
{
	struct group_names g = {.root = folder_make()};
	char path[GROUP_PATH_MAX], file[64], text[128];
	uint32_t honest;
	uint64_t begin;

	for (int i = 0; i < 100; i++) {
		snprintf(file, sizeof(file), "run/runc/box%d/state.json", i);
		snprintf(text, sizeof(text), "{\"cgroup_paths\":{\"\":\"/sys/fs/cgroup/any/%d\"}}",
			i);
		put(file, text);
	}
	for (int i = 0; i < MANY; i++) {
		for (int at = snprintf(path, sizeof(path), "/%d", i); at < 3000; at += 2)
			memcpy(path + at, "/a", 3);
		assert_int_not_equal(of_path(&g, path), 0);
	}
	honest = of_path(&g, "/any/7");
	begin = base_now();
	group_names_resolve(&g);
	assert_true(base_now() - begin < 1000000000);
	assert_string_equal(name_of(&g, GROUP_CONTAINER, honest), "box7");
	group_names_done(&g);
	folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_names_of_docker),
		cmocka_unit_test(test_names_of_bundles),
		cmocka_unit_test(test_names_of_podman),
		cmocka_unit_test(test_names_of_runc),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_texts_of_proc),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_many_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
