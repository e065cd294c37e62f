/* SPDX-License-Identifier: MIT */
/*
 * Expected: a KVM guest of one virtual CPU in real mode enables its clock, kvmclock, and ROUNDS
 * (100) times reads its TSC and then writes to an I/O port. The program prints the guest's clock at
 * each reading, in ns, computed from the TSC and what KVM has written to the guest's memory, as
 * Documentation/virt/kvm/x86/msr.rst says; then it sleeps for NAP (10) ms. It waits for a line on
 * stdin before the first round. In the middle it sets the clock, as QEMU does when a guest goes on
 * after a pause.
 * usage: kvmclocks [ROUNDS [NAP [WORD...]]], as "-uuid UUID"
 */
#include "workload.h"

#ifdef __x86_64__
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

/* Memory up to the graphics memory of a PC, 0xa0000. KVM writes the clock to 0x5000. */
enum { MEMORY = 0xa0000, CODE = 0x1000, CLOCK = 0x5000, TSC = 0x6000 };

static const uint8_t code[] = {
	0x66, 0xb9, 0x01, 0x4d, 0x56, 0x4b, /* mov ecx, MSR_KVM_SYSTEM_TIME_NEW */
	0x66, 0xb8, 0x01, 0x50, 0x00, 0x00, /* mov eax, CLOCK | 1 */
	0x66, 0x31, 0xd2,                   /* xor edx, edx */
	0x0f, 0x30,                         /* wrmsr */
	0xba, 0xf8, 0x03,                   /* mov dx, 0x3f8 */
	0xee,                               /* out dx, al: the first round follows */
	0x0f, 0x31,                         /* rdtsc */
	0x66, 0xa3, 0x00, 0x60,             /* mov [TSC], eax */
	0x66, 0x89, 0x16, 0x04, 0x60,       /* mov [TSC + 4], edx */
	0xba, 0xf8, 0x03,                   /* mov dx, 0x3f8 */
	0xee,                               /* out dx, al */
	0xeb, 0xef,                         /* jmp to rdtsc */
};

/* struct pvclock_vcpu_time_info of the kernel. */
struct clock {
	uint32_t version, pad;
	uint64_t tsc_timestamp, system_time;
	uint32_t mul;
	int8_t shift;
	uint8_t flags, pad2[2];
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int control(int fd, unsigned long request, void *arg)
{
	int r = ioctl(fd, request, arg);

	if (r < 0)
		fail("ioctl");
	return r;
}

static uint8_t *make_memory(int vm)
{
	uint8_t *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region region = {
		.memory_size = MEMORY, .userspace_addr = (uintptr_t)memory};

	if (memory == MAP_FAILED)
		fail("mmap");
	control(vm, KVM_SET_USER_MEMORY_REGION, &region);
	memcpy(memory + CODE, code, sizeof(code));
	return memory;
}

static void set_registers(int vcpu)
{
	struct kvm_regs registers = {.rip = CODE, .rflags = 2};
	struct kvm_sregs special;

	control(vcpu, KVM_GET_SREGS, &special);
	special.cs.base = special.cs.selector = 0;
	control(vcpu, KVM_SET_SREGS, &special);
	control(vcpu, KVM_SET_REGS, &registers);
}

/* Runs until the guest writes to the port. */
static void run_guest(int vcpu, const struct kvm_run *run)
{
	do {
		control(vcpu, KVM_RUN, NULL);
	} while (run->exit_reason == KVM_EXIT_INTR);
	if (run->exit_reason != KVM_EXIT_IO) {
		fprintf(stderr, "unexpected exit %u\n", run->exit_reason);
		exit(1);
	}
}

static uint64_t guest_time(const uint8_t *memory)
{
	struct clock clock;
	uint64_t tsc;

	memcpy(&clock, memory + CLOCK, sizeof(clock));
	memcpy(&tsc, memory + TSC, sizeof(tsc));
	tsc -= clock.tsc_timestamp;
	tsc = clock.shift >= 0 ? tsc << clock.shift : tsc >> -clock.shift;
	return clock.system_time + (uint64_t)((unsigned __int128)tsc * clock.mul >> 32);
}

static void set_clock(int vm)
{
	struct kvm_clock_data data = {0};

	control(vm, KVM_GET_CLOCK, &data);
	data.flags = 0;
	control(vm, KVM_SET_CLOCK, &data);
}

int main(int argc, char **argv)
{
	uint64_t rounds = argument(argc, argv, 1, 100), nap = argument(argc, argv, 2, 10);
	const struct timespec pause = {(time_t)(nap / 1000), (long)(nap % 1000) * 1000000};
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm, vcpu;
	const uint8_t *memory;
	struct kvm_run *run;

	if (kvm < 0)
		fail("/dev/kvm");
	vm = control(kvm, KVM_CREATE_VM, NULL);
	memory = make_memory(vm);
	vcpu = control(vm, KVM_CREATE_VCPU, NULL);
	run = mmap(NULL, (size_t)control(kvm, KVM_GET_VCPU_MMAP_SIZE, NULL), PROT_READ | PROT_WRITE,
		MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		fail("mmap");
	set_registers(vcpu);
	run_guest(vcpu, run);
	getchar();
	for (uint64_t round = 0; round < rounds; round++) {
		if (round == rounds / 2)
			set_clock(vm);
		run_guest(vcpu, run);
		printf("%llu\n", (unsigned long long)guest_time(memory));
		fflush(stdout);
		nanosleep(&pause, NULL);
	}
	return 0;
}
#else
int main(void)
{
	fputs("kvmclocks needs an x86-64 CPU\n", stderr);
	return 1;
}
#endif
