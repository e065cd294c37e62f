/* SPDX-License-Identifier: MIT */
/*
 * Prints what ProcDataRead() has of each source, in the words of the file, for each process that
 * standard input names: "#SOURCE PATH", then its lines; "#warning", and "#end".
 */
#include <stdio.h>
#include <stdlib.h>

#include "pcerrc.h"
#include "pmu.h"

typedef unsigned long long u64;

static void numbers(const u64 *at, u64 n)
{
	for (u64 i = 0; i < n; i++)
		printf(" %llu", at[i]);
	putchar('\n');
}

static void fields(const struct ProcField *at, unsigned n, const char *colon)
{
	for (unsigned i = 0; i < n; i++)
		printf("%s%s%s\n", at[i].key, colon, at[i].value);
}

static void stat_line(const struct ProcStatEntry *e)
{
	static const char *const names[] = {
		"", "intr", "ctxt", "btime", "processes", "procs_running", "procs_blocked"};
	const u64 one[] = {0, 0, e->ctxt, e->btime, e->processes, e->procsRunning, e->procsBlocked};

	if (e->lineType == PROC_STAT_LINE_CPU) {
		printf("%s %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", e->cpuName,
			e->user, e->nice, e->system, e->idle, e->ioWait, e->irq, e->softirq,
			e->steal, e->guest, e->guestNice);
	} else if (e->lineType == PROC_STAT_LINE_INTR) {
		printf("intr %llu", e->intrTotal);
		numbers(e->intrPerIrq, e->numIntrPerIrq);
	} else if (e->lineType == PROC_STAT_LINE_SOFTIRQ) {
		printf("softirq %llu", e->softirqTotal);
		numbers(e->softirqPerType, e->numSoftirqPerType);
	} else {
		printf("%s %llu\n", names[e->lineType], one[e->lineType]);
	}
}

static void net_dev(const struct ProcNetDevEntry *e)
{
	printf("%s: %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
	       "%llu\n",
		e->iface, e->rxBytes, e->rxPackets, e->rxErrs, e->rxDrop, e->rxFifo, e->rxFrame,
		e->rxCompressed, e->rxMulticast, e->txBytes, e->txPackets, e->txErrs, e->txDrop,
		e->txFifo, e->txColls, e->txCarrier, e->txCompressed);
}

static void diskstats(const struct ProcDiskstatsEntry *e)
{
	printf("%d %d %s %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
	       "%llu %llu %llu\n",
		e->major, e->minor, e->device, e->readsCompleted, e->readsMerged, e->sectorsRead,
		e->msReading, e->writesCompleted, e->writesMerged, e->sectorsWritten, e->msWriting,
		e->iosInProgress, e->msIos, e->weightedMsIos, e->discardsCompleted,
		e->discardsMerged, e->sectorsDiscarded, e->msDiscarding, e->flushCompleted,
		e->msFlushing);
}

static void zoneinfo(const struct ProcZoneinfoEntry *e)
{
	printf("Node %d, zone %s\n", e->node, e->zone);
	fields(e->nodeStats, e->numNodeStats, " ");
	printf("pages free %llu\nmin %llu\nlow %llu\nhigh %llu\nspanned %llu\npresent %llu\n"
	       "managed %llu\nprotection: %s\n",
		e->pagesFree, e->pagesMin, e->pagesLow, e->pagesHigh, e->pagesSpanned,
		e->pagesPresent, e->pagesManaged, e->protection);
	for (unsigned i = 0; i < e->numStats; i++)
		if (e->stats[i].key[0] == 'n') /* those of the zone, nr_ and numa_ */
			printf("%s %s\n", e->stats[i].key, e->stats[i].value);
	for (unsigned i = 0; i < e->numPagesets; i++)
		printf("cpu: %d\ncount: %llu\nhigh: %llu\nbatch: %llu\nvm stats threshold: %llu\n",
			e->pagesets[i].cpuId, e->pagesets[i].count, e->pagesets[i].high,
			e->pagesets[i].batch, e->pagesets[i].vmStatsThreshold);
	if (e->startPfn)
		printf("node_unreclaimable: %s\nstart_pfn: %s\n", e->nodeUnreclaimable,
			e->startPfn);
}

static void pid_stat(const struct ProcPidStatEntry *e)
{
	printf("%d (%s) %c %d %d %d %d %d %llu %llu %llu %llu %llu %llu %llu %lld %lld %d %d %d "
	       "%lld %llu %llu %lld %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
	       "%llu %d %d %u %u %llu %llu %lld %llu %llu %llu %llu %llu %llu %llu %d\n",
		e->pid, e->comm, e->state, e->ppid, e->pgrp, e->session, e->ttyNr, e->tpgid,
		e->flags, e->minflt, e->cminflt, e->majflt, e->cmajflt, e->utime, e->stime,
		e->cutime, e->cstime, e->priority, e->niceVal, e->numThreads, e->itrealvalue,
		e->starttime, e->vsize, e->rss, e->rsslim, e->startcode, e->endcode, e->startstack,
		e->kstkesp, e->kstkeip, e->signal, e->blocked, e->sigignore, e->sigcatch, e->wchan,
		e->nswap, e->cnswap, e->exitSignal, e->processor, e->rtPriority, e->policy,
		e->delayacctBlkioTicks, e->guestTime, e->cguestTime, e->startData, e->endData,
		e->startBrk, e->argStart, e->argEnd, e->envStart, e->envEnd, e->exitCode);
}

static void netstat(const struct ProcNetNetstatEntry *e)
{
	printf("%s:", e->category);
	for (unsigned i = 0; i < e->numFields; i++)
		printf(" %s", e->fields[i].key);
	printf("\n%s:", e->category);
	for (unsigned i = 0; i < e->numFields; i++)
		printf(" %s", e->fields[i].value);
	putchar('\n');
}

/* The fields of one line, each behind a text. */
static void row(const char *first, const struct ProcField *at, unsigned n, const char *equals)
{
	printf("%s", first);
	for (unsigned i = 0; i < n; i++)
		printf(" %s%s%s", equals ? at[i].key : "", equals && *at[i].value ? equals : "",
			at[i].value);
	putchar('\n');
}

static void of_system(const struct ProcData *d, unsigned i)
{
	switch (d->source) {
	case PROC_STAT:
		stat_line(&d->stat[i]);
		break;
	case PROC_CPUINFO:
		fields(d->cpuinfo[i].fields, d->cpuinfo[i].numFields, " : ");
		break;
	case PROC_LOADAVG:
		printf("%.2f %.2f %.2f %u/%u %d\n", d->loadavg[i].load1, d->loadavg[i].load5,
			d->loadavg[i].load15, d->loadavg[i].runningProcs, d->loadavg[i].totalProcs,
			d->loadavg[i].lastPid);
		break;
	case PROC_DISKSTATS:
		diskstats(&d->diskstats[i]);
		break;
	case PROC_UPTIME:
		printf("%.2f %.2f\n", d->uptime[i].total, d->uptime[i].idle);
		break;
	case PROC_MOUNTS:
		printf("%s %s %s %s %d %d\n", d->mounts[i].device, d->mounts[i].mountPoint,
			d->mounts[i].fsType, d->mounts[i].options, d->mounts[i].dump,
			d->mounts[i].passVal);
		break;
	case PROC_SOFTIRQS:
		printf("%s:", d->softirqs[i].type);
		numbers(d->softirqs[i].perCpu, d->softirqs[i].numCpus);
		break;
	case PROC_INTERRUPTS:
		printf("%s: %s", d->interrupts[i].irq, d->interrupts[i].description);
		numbers(d->interrupts[i].perCpu, d->interrupts[i].numCpus);
		break;
	case PROC_LOCKS:
		row("", d->locks[i].fields, d->locks[i].numFields, NULL);
		break;
	case PROC_MODULES:
		printf("%s %llu %d %s %s %s %s\n", d->modules[i].name, d->modules[i].size,
			d->modules[i].usedCount, d->modules[i].usedBy, d->modules[i].state,
			d->modules[i].address, d->modules[i].taint);
		break;
	case PROC_FILESYSTEMS:
		printf("%s %s\n", d->filesystems[i].nodev ? "nodev" : "", d->filesystems[i].fsType);
		break;
	case PROC_PRESSURE_CPU:
	case PROC_PRESSURE_IO:
		printf("%s avg10=%.2f avg60=%.2f avg300=%.2f total=%llu\n", d->pressure[i].type,
			d->pressure[i].avg10, d->pressure[i].avg60, d->pressure[i].avg300,
			d->pressure[i].total);
		break;
	case PROC_IRQ_AFFINITY:
	case PROC_VERSION:
		printf("%s\n", d->version[i].version);
		break;
	case PROC_SYS_KERNEL:
	case PROC_SYS_FS:
	case PROC_SYS_VM:
	case PROC_SYS_NET_IPV4:
	case PROC_SYS_NET_CORE:
		printf("%s %s %s\n", d->sysDir[i].path, d->sysDir[i].name, d->sysDir[i].value);
		break;
	default:
		printf("not printed\n");
	}
}

static void of_memory_and_network(const struct ProcData *d, unsigned i)
{
	const struct ProcSlabinfoEntry *s = &d->slabinfo[i];
	const struct ProcNetArpEntry *a = &d->netArp[i];

	switch (d->source) {
	case PROC_MEMINFO:
		printf("%s: %llu %s\n", d->meminfo[i].key, d->meminfo[i].value, d->meminfo[i].unit);
		break;
	case PROC_VMSTAT:
		printf("%s %llu\n", d->vmstat[i].key, d->vmstat[i].value);
		break;
	case PROC_SLABINFO:
		printf("%s %llu %llu %llu %llu %llu : tunables %llu %llu %llu : slabdata %llu %llu "
		       "%llu\n",
			s->name, s->activeObjs, s->numObjs, s->objsize, s->objperslab,
			s->pagesperslab, s->limit, s->batchcount, s->sharedfactor, s->activeSlabs,
			s->numSlabs, s->sharedavail);
		break;
	case PROC_ZONEINFO:
		zoneinfo(&d->zoneinfo[i]);
		break;
	case PROC_BUDDYINFO:
		printf("Node %d, %s %s", d->buddyinfo[i].node, d->buddyinfo[i].zone,
			d->buddyinfo[i].zoneName);
		numbers(d->buddyinfo[i].orders, d->buddyinfo[i].numOrders);
		break;
	case PROC_NET_DEV:
		net_dev(&d->netDev[i]);
		break;
	case PROC_NET_SOCKSTAT:
		printf("%s:", d->netSockstat[i].protocol);
		row("", d->netSockstat[i].fields, d->netSockstat[i].numFields, " ");
		break;
	case PROC_NET_NETSTAT:
		netstat(&d->netNetstat[i]);
		break;
	case PROC_NET_ARP:
		printf("%s %s %s %s %s %s\n", a->ipAddress, a->hwType, a->flags, a->hwAddress,
			a->mask, a->device);
		break;
	default:
		of_system(d, i);
	}
}

static void of_process(const struct ProcData *d, unsigned i)
{
	const struct ProcPidStatmEntry *m = &d->pidStatm[i];
	const struct ProcPidIoEntry *io = &d->pidIo[i];
	const struct ProcPidMapsEntry *map = &d->pidMaps[i];

	switch (d->source) {
	case PROC_PID_STAT:
	case PROC_PID_TASK_STAT:
		pid_stat(&d->pidStat[i]);
		break;
	case PROC_PID_STATM:
		printf("%llu %llu %llu %llu %llu %llu %llu\n", m->size, m->resident, m->shared,
			m->text, m->lib, m->data, m->dt);
		break;
	case PROC_PID_STATUS:
	case PROC_PID_SMAPS_ROLLUP:
		fields(d->pidStatus[i].fields, d->pidStatus[i].numFields, ": ");
		break;
	case PROC_PID_IO:
		printf("rchar: %llu\nwchar: %llu\nsyscr: %llu\nsyscw: %llu\nread_bytes: %llu\n"
		       "write_bytes: %llu\ncancelled_write_bytes: %llu\n",
			io->rchar, io->wchar, io->syscr, io->syscw, io->readBytes, io->writeBytes,
			io->cancelledWriteBytes);
		break;
	case PROC_PID_FD:
		printf("%u\n", d->pidFd[i].fdCount);
		break;
	case PROC_PID_NUMA_MAPS:
		row(d->pidNumaMaps[i].address, d->pidNumaMaps[i].fields,
			d->pidNumaMaps[i].numFields, "=");
		break;
	case PROC_PID_SMAPS:
		printf("%s\n", d->pidSmaps[i].mapping);
		fields(d->pidSmaps[i].fields, d->pidSmaps[i].numFields, ": ");
		break;
	case PROC_PID_ENVIRON:
		printf("%s=%s\n", d->pidEnviron[i].name, d->pidEnviron[i].value);
		break;
	case PROC_PID_LIMITS:
		printf("%s %s %s %s\n", d->pidLimits[i].limit, d->pidLimits[i].soft,
			d->pidLimits[i].hard, d->pidLimits[i].units);
		break;
	case PROC_PID_STACK:
		printf("%s %s\n", d->pidStack[i].address, d->pidStack[i].symbol);
		break;
	case PROC_PID_MAPS:
		printf("%s-%s %s %s %s %s %s\n", map->start, map->end, map->perms, map->offset,
			map->dev, map->inode, map->pathname);
		break;
	default: /* the whole text: command line, function that it waits in, name */
		printf("%s\n", d->pidComm[i].comm);
	}
}

static void dump(int pid)
{
	struct ProcData *data;
	unsigned n;

	if (ProcDataRead(pid, &data, &n) != SUCCESS) {
		printf("#error %s\n", Perror());
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		printf("#%d %s\n", (int)data[i].source, data[i].filePath);
		for (unsigned j = 0; j < data[i].numEntries; j++)
			(data[i].source >= PROC_PID_STAT ? of_process : of_memory_and_network)(
				&data[i], j);
	}
	printf("#warning %d %s\n", GetWarn(), GetWarnMsg());
	ProcDataFree(data, n);
}

int main(void)
{
	int pid;

	while (scanf("%d", &pid) == 1) {
		dump(pid);
		printf("#end\n");
		fflush(stdout);
	}
	return 0;
}
