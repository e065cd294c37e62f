/* SPDX-License-Identifier: MIT */
/*
 * pcie.h - PCI devices whose traffic is counted: by HiSilicon's PMU of their PCIe core, or by the
 * PMU of the SMMU (version 3) that translates their addresses.
 *
 * A device is known by bus, device and function, "16:04.0", in the PCI domain 0.
 *
 * Sources: Documentation/admin-guide/perf/hisi-pcie-pmu.rst, drivers/perf/hisilicon/hisi_pcie_pmu.c
 * and drivers/perf/arm_smmuv3_pmu.c of the kernel.
 */
#ifndef KPERF_PCIE_H
#define KPERF_PCIE_H

#include <stdbool.h>

#include "attar/event.h"
#include "pmu.h"

struct kp_bdf {
	char text[sizeof("ff:1f.7")];
	char pmu[64];        /* that counts the device */
	unsigned root_ports; /* the term "port" of the PMU for the device's root port */
	bool is_root_port;   /* not an endpoint */
};

/* Sorted by text. */
struct kp_bdfs {
	struct kp_bdf *at;
	size_t n;
};

/* "16:04.0" as the number 0x1620, "16:04.0" again. SUCCESS, or the call has failed. */
int kp_bdf_parse(const char *text, unsigned *ret_bdf);

/*
 * The devices that a PMU of the catalog counts, with the files of sysfs ("/sys"). SUCCESS, or the
 * call has failed. kp_bdfs_done() frees the list.
 */
int kp_bdfs_find(const char *sysfs, struct attar_catalog *catalog, enum PmuBdfType type,
	struct kp_bdfs *ret);
void kp_bdfs_done(struct kp_bdfs *bdfs);

/* NULL: it is not in the list. */
const struct kp_bdf *kp_bdfs_get(const struct kp_bdfs *bdfs, unsigned bdf);

#endif
