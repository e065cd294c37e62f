/* SPDX-License-Identifier: MIT */
/*
 * device.h - metrics of devices, from counts of the PMUs of HiSilicon's SoCs and of Arm's CPUs.
 *
 * A task has an entry of evtList for each PMU and event that a metric is made of; the name of the
 * entry later identifies the part of the metric of a row of PmuRead().
 */
#ifndef KPERF_DEVICE_H
#define KPERF_DEVICE_H

#include "data.h"

/* PmuDeviceOpen() with the PMUs of the origin's catalog. */
int kp_device_open(struct kp_origin *origin, const struct PmuDeviceAttr *attr, unsigned len);

#endif
