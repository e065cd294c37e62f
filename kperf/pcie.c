/* SPDX-License-Identifier: MIT */
#include "pcie.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "topology.h"

enum {
	DEEPEST = 16,      /* bridges behind each other */
	BRIDGE = 0x0604,   /* class and subclass of a bridge between PCI buses */
	BITS_PER_PORT = 2, /* of the term "port", for each device number of the PMU's root ports */
	ROOT_PORTS = 16,   /* bits of the term */
	PMU_OFFSET = 0x20, /* pages from HiSilicon's SMMU to its PMU */
	PAGE_BITS = 12,
};

/* A PMU of a PCIe core. */
struct core {
	const char *pmu;
	unsigned long bus, first, last; /* the bus of its root ports, and their range */
};

struct search {
	const char *sysfs;
	struct attar_catalog *catalog;
	struct kp_bdfs *found;
	struct core *cores;
	size_t n_cores;
};

static unsigned make_bdf(unsigned bus, unsigned device, unsigned function)
{
	return bus << 8 | device << 3 | function;
}

static bool read_bdf(const char *text, unsigned *ret_bdf)
{
	unsigned bus, device, function;
	int end = 0;

	if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end] ||
		strspn(text, "0123456789abcdefABCDEF:.") != strlen(text) || device > 0x1f ||
		function > 7)
		return false;
	*ret_bdf = make_bdf(bus, device, function);
	return true;
}

int kp_bdf_parse(const char *text, unsigned *ret_bdf)
{
	return read_bdf(text, ret_bdf) ? SUCCESS
				       : kp_fail(LIBPERF_ERR_INVALID_BDF_VALUE,
						 "'%s' is not a PCI device: use the form 16:04.0, "
						 "see PmuDeviceBdfList()",
						 text);
}

/* "0000:16:04.0": a folder of a device. */
static bool read_folder_name(const char *name, unsigned *ret_bdf)
{
	return strncmp(name, "0000:", 5) == 0 && read_bdf(name + 5, ret_bdf);
}

static int add_device(struct kp_bdfs *bdfs, unsigned bdf, const struct kp_bdf *values)
{
	struct kp_bdf *grown = reallocarray(bdfs->at, bdfs->n + 1, sizeof(*grown));

	if (!grown)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	bdfs->at = grown;
	grown[bdfs->n] = *values;
	snprintf(grown[bdfs->n++].text, sizeof(values->text), "%02x:%02x.%x", bdf >> 8 & 0xff,
		bdf >> 3 & 0x1f, bdf & 7);
	return SUCCESS;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct kp_bdf *)left)->text, ((const struct kp_bdf *)right)->text);
}

const struct kp_bdf *kp_bdfs_get(const struct kp_bdfs *bdfs, unsigned bdf)
{
	for (size_t i = 0; i < bdfs->n; i++) {
		unsigned own;

		if (read_bdf(bdfs->at[i].text, &own) && own == bdf)
			return &bdfs->at[i];
	}
	return NULL;
}

void kp_bdfs_done(struct kp_bdfs *bdfs)
{
	free(bdfs->at);
	*bdfs = (struct kp_bdfs){0};
}

/* ---- PCIe ---- */

/* Firmware that does not report the range of root ports: the whole bus. */
static int read_core(const struct search *search, const char *pmu, struct core *ret)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/bus/event_source/devices/%s", search->sysfs, pmu);
	*ret = (struct core){.pmu = pmu};
	if (!kp_read_hex(folder, "bus", &ret->bus))
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PCIE_COUNTING,
			"%s/bus does not have the number of a bus", folder);
	if (kp_read_hex(folder, "bdf_min", &ret->first) &&
		kp_read_hex(folder, "bdf_max", &ret->last))
		return SUCCESS;
	ret->first = ret->bus << 8;
	ret->last = ret->first | 0xff;
	kp_warn(LIBPERF_WARN_PCIE_BIOS_NOT_NEWEST,
		"%s has no bdf_min and bdf_max: all ports of its bus are taken as its own; update "
		"the kernel",
		folder);
	return SUCCESS;
}

static int find_cores(struct search *search)
{
	const struct attar_pmu *pmu;
	int r = SUCCESS;

	for (size_t i = 0; (pmu = attar_catalog_pmu(search->catalog, i)) && r == SUCCESS; i++) {
		struct core *grown;

		if (strncmp(pmu->name, "hisi_pcie", 9) != 0 || !strstr(pmu->name, "_core"))
			continue;
		grown = reallocarray(search->cores, search->n_cores + 1, sizeof(*grown));
		if (!grown)
			return kp_fail(COMMON_ERR_NOMEM, "out of memory");
		search->cores = grown;
		r = read_core(search, pmu->name, &grown[search->n_cores++]);
	}
	if (r == SUCCESS && search->n_cores == 0)
		r = kp_fail(LIBPERF_ERR_NOT_SUPPORT_PCIE_COUNTING,
			"metrics of PCIe need a PMU hisi_pcie*_core* in "
			"/sys/bus/event_source/devices: this machine has none");
	return r;
}

/* The values of devices behind a root port. False: no PMU counts them. */
static bool is_counted(const struct search *search, unsigned bdf, struct kp_bdf *ret)
{
	for (size_t i = 0; i < search->n_cores; i++) {
		const struct core *core = &search->cores[i];
		unsigned bit;

		if (bdf >> 8 != core->bus || bdf < core->first || bdf > core->last)
			continue;
		bit = ((bdf >> 3 & 0x1f) - (unsigned)(core->first >> 3 & 0x1f)) * BITS_PER_PORT;
		*ret = (struct kp_bdf){.root_ports = bit < ROOT_PORTS ? 1U << bit : 0};
		snprintf(ret->pmu, sizeof(ret->pmu), "%s", core->pmu);
		return true;
	}
	return false;
}

/* The devices in a folder; root has the values of their root port, or is NULL on its level. */
static int walk(
	const struct search *search, const char *folder, const struct kp_bdf *root, int depth)
{
	DIR *dir = depth < DEEPEST ? opendir(folder) : NULL;
	struct dirent *entry;
	int r = SUCCESS;

	while (dir && r == SUCCESS && (entry = readdir(dir))) {
		unsigned long class = 0;
		struct kp_bdf values;
		char path[PATH_MAX];
		bool is_bridge;
		unsigned bdf;

		if (!read_folder_name(entry->d_name, &bdf))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		kp_read_hex(path, "class", &class);
		is_bridge = class >> 8 == BRIDGE;
		if (!root && (!is_bridge || !is_counted(search, bdf, &values)))
			continue;
		if (root)
			values = *root;
		values.is_root_port = !root;
		if (values.is_root_port || !is_bridge)
			r = add_device(search->found, bdf, &values);
		if (r == SUCCESS && is_bridge)
			r = walk(search, path, &values, depth + 1);
	}
	if (dir)
		closedir(dir);
	return r;
}

static int find_endpoints(struct search *search)
{
	int r = find_cores(search);
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (r != SUCCESS)
		return r;
	snprintf(path, sizeof(path), "%s/devices", search->sysfs);
	dir = opendir(path);
	if (!dir)
		return kp_fail(LIBPERF_ERR_OPEN_PCI_FILE_FAILD, "%s: %m", path);
	while (r == SUCCESS && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "pci0000:", 8) == 0) {
			snprintf(path, sizeof(path), "%s/devices/%s", search->sysfs, entry->d_name);
			r = walk(search, path, NULL, 0);
		}
	closedir(dir);
	return r;
}

/* ---- SMMU ---- */

/* A PMU has the name of the page of its registers. False: the catalog does not have it. */
static bool find_pmu(const struct search *search, unsigned long long smmu, char *ret, size_t size)
{
	const struct attar_pmu *pmu;

	snprintf(ret, size, "smmuv3_pmcg_%llx", (smmu >> PAGE_BITS) + PMU_OFFSET);
	for (size_t i = 0; (pmu = attar_catalog_pmu(search->catalog, i)); i++)
		if (strcmp(pmu->name, ret) == 0)
			return true;
	return false;
}

/* The devices of one SMMU, whose folder is `smmu`. */
static int add_clients(const struct search *search, const char *smmu, const struct kp_bdf *values)
{
	struct dirent *entry;
	char path[PATH_MAX];
	int r = SUCCESS;
	unsigned bdf;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/class/iommu/%s/devices", search->sysfs, smmu);
	dir = opendir(path);
	if (!dir)
		return kp_fail(LIBPERF_ERR_INVALID_IOSMMU_DIR, "%s: %m", path);
	while (r == SUCCESS && (entry = readdir(dir)))
		if (read_folder_name(entry->d_name, &bdf))
			r = add_device(search->found, bdf, values);
	closedir(dir);
	return r;
}

/* "smmu3.0x0000000148000000": the address of an SMMU. Another IOMMU is left out. */
static int add_smmu(const struct search *search, const char *name, size_t *n_smmus)
{
	struct kp_bdf values = {0};
	unsigned long long address;
	int end = 0;

	if (sscanf(name, "smmu3.%llx%n", &address, &end) != 1 || name[end])
		return SUCCESS;
	++*n_smmus;
	if (find_pmu(search, address, values.pmu, sizeof(values.pmu)))
		return add_clients(search, name, &values);
	kp_warn(LIBPERF_WARN_INVALID_SMMU_BDF,
		"the devices of %s are left out: there is no PMU %s that counts them", name,
		values.pmu);
	return SUCCESS;
}

static int find_clients(struct search *search)
{
	size_t n_iommus = 0, n_smmus = 0;
	struct dirent *entry;
	char path[PATH_MAX];
	int r = SUCCESS;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/class/iommu", search->sysfs);
	dir = opendir(path);
	while (dir && r == SUCCESS && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		n_iommus++;
		r = add_smmu(search, entry->d_name, &n_smmus);
	}
	if (dir)
		closedir(dir);
	if (r == SUCCESS && n_iommus == 0)
		r = kp_fail(LIBPERF_ERR_INVALID_IOSMMU_DIR,
			"%s: there is no IOMMU, or it is disabled in the firmware", path);
	else if (r == SUCCESS && n_smmus == 0)
		r = kp_fail(LIBPERF_ERR_INVALID_SMMU_NAME,
			"%s: no IOMMU is an SMMU of version 3, \"smmu3.0xADDRESS\"", path);
	return r;
}

int kp_bdfs_find(
	const char *sysfs, struct attar_catalog *catalog, enum PmuBdfType type, struct kp_bdfs *ret)
{
	struct search search = {.sysfs = sysfs, .catalog = catalog, .found = ret};
	int r;

	*ret = (struct kp_bdfs){0};
	r = type == PMU_BDF_TYPE_PCIE ? find_endpoints(&search) : find_clients(&search);
	free(search.cores);
	if (r != SUCCESS)
		kp_bdfs_done(ret);
	else if (ret->n > 0)
		qsort(ret->at, ret->n, sizeof(*ret->at), by_text);
	return r;
}
