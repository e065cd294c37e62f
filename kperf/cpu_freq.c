/* SPDX-License-Identifier: MIT */
/* Frequencies of CPUs: of the kernel's cpufreq, or those that /proc/cpuinfo states. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "pmu.h"
#include "topology.h"

/* MHz of "cpu MHz" of a processor; 0: not stated. */
static double stated_mhz(unsigned core)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	double mhz = 0, value;
	unsigned processor = ~0U;
	char line[256];

	while (file && mhz == 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "processor : %u", &processor) != 1 && processor == core &&
			sscanf(line, "cpu MHz : %lf", &value) == 1)
			mhz = value;
	if (file)
		fclose(file);
	return mhz;
}

/* Hz; 0: unknown. */
static int64_t frequency(unsigned core)
{
	static const char *const names[] = {"scaling_cur_freq", "cpuinfo_cur_freq"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int64_t khz;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/%s", core,
			names[i]);
		khz = kp_read_number(path, 0);
		if (khz > 0)
			return khz * 1000;
	}
	return (int64_t)(stated_mhz(core) * 1e6);
}

int64_t PmuGetCpuFreq(unsigned core)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	int64_t hz;

	kp_begin();
	if (core >= (unsigned long)configured)
		return kp_error(LIBPERF_ERR_INVALID_CPULIST,
			"there is no CPU %u; this machine has 0 to %ld", core, configured - 1);
	hz = frequency(core);
	if (hz == 0)
		return kp_error(LIBPERF_ERR_CPUFREQ_NOT_CONFIG,
			"neither the kernel's cpufreq nor /proc/cpuinfo states the frequency of "
			"CPU %u",
			core);
	return hz;
}

/* ---- sampling ---- */

struct sum {
	uint64_t min, max, total, n;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t sampler;
	bool running;
	unsigned period, n_cpus;
	struct sum *sums;
	struct PmuCpuFreqDetail *details; /* of the last call */
} freq = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The lock is held. */
static void sample_all(void)
{
	for (unsigned cpu = 0; cpu < freq.n_cpus; cpu++) {
		struct sum *sum = &freq.sums[cpu];
		uint64_t hz = (uint64_t)frequency(cpu);

		if (hz == 0)
			continue;
		sum->min = sum->n == 0 || hz < sum->min ? hz : sum->min;
		sum->max = hz > sum->max ? hz : sum->max;
		sum->total += hz;
		sum->n++;
	}
}

static void *sample(void *arg)
{
	struct timespec next;

	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&freq.lock);
	while (freq.running) {
		int r = 0;

		sample_all();
		next.tv_sec += freq.period / 1000;
		next.tv_nsec += freq.period % 1000 * 1000000L;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (freq.running && r == 0)
			r = pthread_cond_timedwait(&freq.changed, &freq.lock, &next);
	}
	pthread_mutex_unlock(&freq.lock);
	return NULL;
}

int PmuOpenCpuFreqSampling(unsigned period)
{
	unsigned n = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	int r = SUCCESS;

	kp_begin();
	if (period == 0 || period > 24 * 3600 * 1000)
		return kp_error(LIBPERF_ERR_INVALID_CPU_FREQ_PERIOD,
			"the period is %u ms; use 1 ms to a day", period);
	if (frequency(0) == 0)
		return kp_error(LIBPERF_ERR_CPUFREQ_NOT_CONFIG,
			"neither the kernel's cpufreq nor /proc/cpuinfo states frequencies");
	pthread_mutex_lock(&freq.lock);
	if (freq.running) {
		r = kp_error(LIBPERF_ERR_DEVICE_BUSY,
			"frequencies are already sampled: call PmuCloseCpuFreqSampling() first");
	} else {
		freq.n_cpus = n;
		freq.period = period;
		freq.sums = calloc(n, sizeof(*freq.sums));
		freq.details = calloc(n, sizeof(*freq.details));
		freq.running = freq.sums && freq.details;
		if (freq.running && pthread_create(&freq.sampler, NULL, sample, NULL) != 0)
			freq.running = false;
		if (!freq.running)
			r = kp_error(COMMON_ERR_NOMEM, "out of memory");
	}
	pthread_mutex_unlock(&freq.lock);
	return r;
}

struct PmuCpuFreqDetail *PmuReadCpuFreqDetail(unsigned *n)
{
	kp_begin();
	if (!n) {
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuReadCpuFreqDetail(): cpuNum is NULL");
		return NULL;
	}
	*n = 0;
	pthread_mutex_lock(&freq.lock);
	if (!freq.running) {
		kp_fail(LIBPERF_ERR_NOT_OPENED,
			"frequencies are not sampled: call PmuOpenCpuFreqSampling() first");
	} else {
		sample_all();
		for (unsigned cpu = 0; cpu < freq.n_cpus; cpu++) {
			struct sum *sum = &freq.sums[cpu];

			freq.details[cpu] = (struct PmuCpuFreqDetail){.cpuId = (int)cpu,
				.minFreq = sum->min,
				.maxFreq = sum->max,
				.avgFreq = sum->n ? sum->total / sum->n : 0};
			*sum = (struct sum){0};
		}
		*n = freq.n_cpus;
	}
	pthread_mutex_unlock(&freq.lock);
	return *n > 0 ? freq.details : NULL;
}

void PmuCloseCpuFreqSampling(void)
{
	bool running;

	kp_begin();
	pthread_mutex_lock(&freq.lock);
	running = freq.running;
	freq.running = false;
	pthread_cond_signal(&freq.changed);
	pthread_mutex_unlock(&freq.lock);
	if (!running)
		return;
	pthread_join(freq.sampler, NULL);
	free(freq.sums);
	free(freq.details);
	freq.sums = NULL;
	freq.details = NULL;
}
